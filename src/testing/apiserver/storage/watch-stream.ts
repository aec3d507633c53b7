// One watch as a stream of JSON lines: backlog first, then live changes, bookmarks, and an end after its time. A reader that does not read
// is cut off, and what waits for it are references, not bytes.

import { type Milliseconds, milliseconds } from "../../../core/brand.ts";
import type { Clock } from "../../../platform/clock.ts";
import type { KubeObject } from "../objects/kube-object.ts";
import type { Store, StoredChange } from "./store.ts";

export type WatchEventType = "ADDED" | "MODIFIED" | "DELETED";

export type Frame =
  | { readonly type: WatchEventType; readonly object: KubeObject }
  | { readonly type: "BOOKMARK"; readonly revision: number; readonly isEndOfInitialEvents: boolean }
  | { readonly type: "ERROR"; readonly text: string };

export interface WatchPlan {
  readonly storage: string;
  readonly namespace: string;
  readonly matches: (object: KubeObject) => boolean;
  /** What is sent before anything live. */
  readonly backlog: Frame[];
  /** Changes up to here are part of the backlog, or not asked for. */
  readonly since: number;
  readonly wantsBookmarks: boolean;
  readonly bookmarkEvery: Milliseconds;
  readonly endsAfter: Milliseconds;
  /** How many changes may wait for the reader. */
  readonly waitingLimit: number;
  readonly encode: (frame: Frame) => string;
  /** Nothing follows the backlog. */
  readonly isOver?: boolean;
}

const chunkSize = 64 * 1024;
const encoder = new TextEncoder();

/** How a change looks to a watch with a selector: an object that begins to match is added, one that ceases is deleted. */
export function frameFor(plan: WatchPlan, change: StoredChange): Frame | undefined {
  const { object, before } = change;
  if (plan.namespace !== "" && object.metadata.namespace !== plan.namespace) return undefined;
  const isIn = change.type !== "DELETED" && plan.matches(object);
  const wasIn = before !== undefined && plan.matches(before);
  if (isIn) return { type: wasIn ? "MODIFIED" : "ADDED", object };
  if (!wasIn) return undefined;
  if (change.type === "DELETED") return { type: "DELETED", object };
  const { resourceVersion } = object.metadata;
  return { type: "DELETED", object: { ...before, metadata: { ...before.metadata, resourceVersion } } };
}

export function openWatch(
  store: Store,
  clock: Clock,
  plan: WatchPlan,
  signal: AbortSignal,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  let waiting: Frame[] = plan.backlog;
  let next = 0;
  const allowance = plan.backlog.length + plan.waitingLimit;
  let isClosing = false;
  let controller: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>> | undefined;
  let stopBookmarks = () => {};

  const release = (): void => {
    stopListening();
    stopBookmarks();
    stopTimer();
    signal.removeEventListener("abort", onAbort);
  };
  const flush = (): void => {
    if (controller === undefined) return;
    while (next < waiting.length && (controller.desiredSize ?? 0) > 0) {
      let text = "";
      while (next < waiting.length && text.length < chunkSize) {
        const frame = waiting[next++];
        if (frame !== undefined) text += plan.encode(frame);
      }
      controller.enqueue(encoder.encode(text));
    }
    if (next < waiting.length) return;
    waiting = [];
    next = 0;
    if (isClosing) {
      const ended = controller;
      controller = undefined;
      ended.close();
    }
  };
  const finish = (): void => {
    if (isClosing) return;
    isClosing = true;
    release();
    flush();
  };
  const push = (frame: Frame): void => {
    if (isClosing) return;
    waiting.push(frame);
    flush();
    if (waiting.length - next > allowance) {
      waiting.length = next;
      finish();
    }
  };
  const onAbort = (): void => {
    isClosing = true;
    release();
    waiting = [];
    const ended = controller;
    controller = undefined;
    ended?.error(signal.reason);
  };
  const stopListening = store.onWrite((change) => {
    if (change.storage !== plan.storage || change.revision <= plan.since) return;
    const frame = frameFor(plan, change);
    if (frame !== undefined) push(frame);
  });
  const stopTimer = clock.after(plan.endsAfter, finish);
  const scheduleBookmark = (): void => {
    stopBookmarks = clock.after(plan.bookmarkEvery, () => {
      push({ type: "BOOKMARK", revision: store.revision, isEndOfInitialEvents: false });
      if (!isClosing) scheduleBookmark();
    });
  };
  if (plan.wantsBookmarks) scheduleBookmark();
  signal.addEventListener("abort", onAbort, { once: true });

  return new ReadableStream<Uint8Array<ArrayBuffer>>(
    {
      start: (given) => {
        controller = given;
        if (signal.aborted) onAbort();
        else if (plan.isOver === true) finish();
        else flush();
      },
      pull: flush,
      cancel: () => {
        isClosing = true;
        controller = undefined;
        waiting = [];
        release();
      },
    },
    new ByteLengthQueuingStrategy({ highWaterMark: chunkSize }),
  );
}

/** A watch that says one thing and ends: how the server refuses once it has accepted. */
export function errorFrame(status: object): Frame {
  return {
    type: "ERROR",
    text: `${JSON.stringify({ type: "ERROR", object: status })}\n`,
  };
}

export const bookmarkDelay = (fraction: number): Milliseconds => milliseconds(30_000 + fraction * 30_000);

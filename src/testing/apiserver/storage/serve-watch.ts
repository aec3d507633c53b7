// Sends one watch as a stream of JSON lines: the backlog, then live changes and bookmarks until its timeout. A client that does
// not read is disconnected; its pending changes are references to objects, not bytes.

import { type Milliseconds, milliseconds } from "../../../core/brand.ts";
import type { Clock } from "../../../platform/clock.ts";
import type { KubeObject } from "../objects/kube-object.ts";
import type { Store, StoredChange } from "./object-store.ts";

type WatchEventType = "ADDED" | "MODIFIED" | "DELETED";

export type Frame =
  | { readonly type: WatchEventType; readonly object: KubeObject }
  | { readonly type: "BOOKMARK"; readonly revision: number; readonly isEndOfInitialEvents: boolean }
  | { readonly type: "ERROR"; readonly text: string };

export interface WatchPlan {
  readonly storage: string;
  readonly namespace: string;
  readonly matches: (object: KubeObject) => boolean;
  /** Frames to send before live changes. */
  readonly backlog: Frame[];
  /** Changes up to this revision are part of the backlog or not requested. */
  readonly since: number;
  readonly wantsBookmarks: boolean;
  readonly bookmarkEvery: Milliseconds;
  readonly endsAfter: Milliseconds;
  /** How many changes may wait for a slow client. */
  readonly waitingLimit: number;
  readonly encode: (frame: Frame) => string;
  /** The watch ends after the backlog. */
  readonly isOver?: boolean;
}

const chunkSize = 64 * 1024;
const encoder = new TextEncoder();

/**
 * A change as a watch with a selector sees it: an object that starts to match is added, one that stops matching is
 * deleted.
 */
export function frameFor(plan: WatchPlan, change: StoredChange): Frame | undefined {
  const { object, before } = change;
  if (plan.namespace !== "" && object.metadata.namespace !== plan.namespace) return undefined;
  const isMatching = change.type !== "DELETED" && plan.matches(object);
  const wasMatching = before !== undefined && plan.matches(before);
  if (isMatching) return { type: wasMatching ? "MODIFIED" : "ADDED", object };
  if (!wasMatching) return undefined;
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
  const watch = new Watch(store, clock, plan, signal);
  return new ReadableStream<Uint8Array<ArrayBuffer>>(
    {
      start: (controller) => watch.start(controller),
      pull: () => watch.flush(),
      cancel: () => watch.cancel(),
    },
    new ByteLengthQueuingStrategy({ highWaterMark: chunkSize }),
  );
}

class Watch {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #plan: WatchPlan;
  readonly #signal: AbortSignal;
  /** Backlog and limit together, because a client may read the backlog slowly. */
  readonly #maxWaiting: number;
  readonly #stopListening: () => void;
  readonly #stopTimer: () => void;
  #stopBookmarks = (): void => {};
  #waiting: Frame[];
  #next = 0;
  #isClosing = false;
  #controller: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>> | undefined;

  constructor(store: Store, clock: Clock, plan: WatchPlan, signal: AbortSignal) {
    this.#store = store;
    this.#clock = clock;
    this.#plan = plan;
    this.#signal = signal;
    this.#waiting = plan.backlog;
    this.#maxWaiting = plan.backlog.length + plan.waitingLimit;
    this.#stopListening = store.onWrite((change) => this.#onWrite(change));
    this.#stopTimer = clock.after(plan.endsAfter, () => this.#close());
    if (plan.wantsBookmarks) this.#scheduleBookmark();
    signal.addEventListener("abort", this.#onAbort, { once: true });
  }

  start(controller: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>>): void {
    this.#controller = controller;
    if (this.#signal.aborted) this.#onAbort();
    else if (this.#plan.isOver === true) this.#close();
    else this.flush();
  }

  /** Sends waiting frames for as long as the client reads. */
  flush(): void {
    const controller = this.#controller;
    if (controller === undefined) return;
    while (this.#next < this.#waiting.length && (controller.desiredSize ?? 0) > 0) {
      let text = "";
      while (this.#next < this.#waiting.length && text.length < chunkSize) {
        const frame = this.#waiting[this.#next++];
        if (frame !== undefined) text += this.#plan.encode(frame);
      }
      controller.enqueue(encoder.encode(text));
    }
    if (this.#next < this.#waiting.length) return;
    this.#waiting = [];
    this.#next = 0;
    if (!this.#isClosing) return;
    this.#controller = undefined;
    controller.close();
  }

  /** The client has closed the stream. */
  cancel(): void {
    this.#abandon();
  }

  #onWrite(change: StoredChange): void {
    if (change.storage !== this.#plan.storage || change.revision <= this.#plan.since) return;
    const frame = frameFor(this.#plan, change);
    if (frame !== undefined) this.#push(frame);
  }

  #push(frame: Frame): void {
    if (this.#isClosing) return;
    this.#waiting.push(frame);
    this.flush();
    if (this.#waiting.length - this.#next <= this.#maxWaiting) return;
    this.#waiting.length = this.#next;
    this.#close();
  }

  #scheduleBookmark(): void {
    this.#stopBookmarks = this.#clock.after(this.#plan.bookmarkEvery, () => {
      this.#push({ type: "BOOKMARK", revision: this.#store.revision, isEndOfInitialEvents: false });
      if (!this.#isClosing) this.#scheduleBookmark();
    });
  }

  /** Ends the stream once the waiting frames are sent. */
  #close(): void {
    if (this.#isClosing) return;
    this.#isClosing = true;
    this.#stopSources();
    this.flush();
  }

  readonly #onAbort = (): void => {
    const controller = this.#controller;
    this.#abandon();
    controller?.error(this.#signal.reason);
  };

  #abandon(): void {
    this.#isClosing = true;
    this.#stopSources();
    this.#waiting = [];
    this.#controller = undefined;
  }

  #stopSources(): void {
    this.#stopListening();
    this.#stopBookmarks();
    this.#stopTimer();
    this.#signal.removeEventListener("abort", this.#onAbort);
  }
}

/** An ERROR event: how the server refuses a watch after it has sent the status line. */
export function errorFrame(status: object): Frame {
  return {
    type: "ERROR",
    text: `${JSON.stringify({ type: "ERROR", object: status })}\n`,
  };
}

export const bookmarkDelay = (fraction: number): Milliseconds => milliseconds(30_000 + fraction * 30_000);

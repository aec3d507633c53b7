// Watches: the start of each, its initial events, and the responses of the emulated server version; then live changes and
// bookmarks as a stream of JSON lines until the timeout. A client that does not read is disconnected; its pending changes are
// references to objects, not bytes.

import { type Milliseconds, milliseconds, seconds } from "../../../core/brand.ts";
import type { Clock } from "../../../platform/clock.ts";
import type { Random } from "../../../platform/random.ts";
import { expired, invalid, notSupported } from "../objects/api-error.ts";
import type { JsonObject } from "../objects/json.ts";
import type { KubeObject } from "../objects/kube-object.ts";
import { isTrue, listOptionsInvalid, readRevision } from "./list-objects.ts";
import type { Store, StoredChange } from "./object-store.ts";

export interface WatchSettings {
  /**
   * `on` as in Kubernetes 1.34 and later; `off` returns 422 as in 1.33; `ignored` as in older servers that do not know the
   * parameter.
   */
  readonly streamingLists: "on" | "off" | "ignored";
  /**
   * How a watch from a compacted revision is rejected: by an ERROR event, as servers do, or by the HTTP status, as proxies and
   * old servers may.
   */
  readonly goneAs: "event" | "status";
  /** The number of changes that may wait for a slow client. */
  readonly waitingLimit: number;
}

export type Frame =
  | { readonly type: StoredChange["type"]; readonly object: KubeObject }
  | { readonly type: "BOOKMARK"; readonly revision: number; readonly isEndOfInitialEvents: boolean }
  /** How the server rejects a watch after it has sent the status line. */
  | { readonly type: "ERROR"; readonly object: JsonObject };

interface WatchRequest {
  readonly storage: string;
  readonly namespace: string;
  readonly matches: (object: KubeObject) => boolean;
  readonly query: URLSearchParams;
  /** A frame as a line of JSON. */
  readonly encode: (frame: Frame) => string;
}

interface WatchDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly settings: WatchSettings;
}

/**
 * Whether the request is a streaming list; undefined if it has no such parameter. Rejects the same requests as the emulated
 * version.
 */
function wantsInitialEvents(query: URLSearchParams, { streamingLists }: WatchSettings): boolean | undefined {
  if (streamingLists === "ignored") return undefined;
  const asked = query.get("sendInitialEvents");
  const match = query.get("resourceVersionMatch") ?? "";
  if (asked === null) {
    if (match === "") return undefined;
    throw listOptionsInvalid(
      "resourceVersionMatch",
      "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
    );
  }
  if (match === "") {
    throw listOptionsInvalid(
      "resourceVersionMatch",
      "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
    );
  }
  if (match !== "NotOlderThan") {
    throw invalid("ListOptions", "meta.k8s.io", "", [
      notSupported("resourceVersionMatch", match, ["NotOlderThan"]),
    ]);
  }
  if (streamingLists === "off") {
    throw listOptionsInvalid(
      "sendInitialEvents",
      "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled",
    );
  }
  return isTrue(asked);
}

/**
 * A change as a watch with a selector sees it: an object that starts to match is added, and one that stops matching is deleted.
 */
function frameFor(
  { namespace, matches }: WatchRequest,
  { type, object, before }: StoredChange,
): Frame | undefined {
  if (namespace !== "" && object.metadata.namespace !== namespace) return undefined;
  const wasMatching = before !== undefined && matches(before);
  if (type !== "DELETED" && matches(object)) return { type: wasMatching ? "MODIFIED" : "ADDED", object };
  if (!wasMatching) return undefined;
  if (type === "DELETED") return { type, object };
  const { resourceVersion } = object.metadata;
  return { type: "DELETED", object: { ...before, metadata: { ...before.metadata, resourceVersion } } };
}

interface Start {
  /** Frames to send before live changes. */
  readonly backlog: Frame[];
  /** Changes up to this revision are in the backlog or were not requested. */
  readonly since: number;
  /** True if the watch ends after the backlog. */
  readonly isOver?: boolean;
}

function startOf(
  request: WatchRequest,
  { store, settings }: WatchDeps,
  isStreamingList: boolean | undefined,
  wanted: number,
): Start {
  const { storage, namespace, matches, query } = request;
  const since = store.revision;
  if (isStreamingList === true || (isStreamingList === undefined && wanted === 0)) {
    const present = store.list(storage, namespace).filter(matches);
    const backlog = present.map((object): Frame => ({ type: "ADDED", object }));
    if (isStreamingList === true && isTrue(query.get("allowWatchBookmarks"))) {
      backlog.push({ type: "BOOKMARK", revision: since, isEndOfInitialEvents: true });
    }
    return { backlog, since };
  }
  if (wanted === 0) return { backlog: [], since };
  const missed = store.changesSince(storage, wanted);
  if (missed === undefined) {
    const gone = expired(`too old resource version: ${wanted} (${since})`);
    if (settings.goneAs === "status") throw gone;
    return { backlog: [{ type: "ERROR", object: gone.status }], since, isOver: true };
  }
  const backlog = missed.flatMap((change) => frameFor(request, change) ?? []);
  return { backlog, since: Math.max(wanted, since) };
}

export function openWatch(
  request: WatchRequest,
  deps: WatchDeps,
  signal: AbortSignal,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const watch = new Watch(request, deps, signal);
  return new ReadableStream<Uint8Array<ArrayBuffer>>(
    {
      start: (controller) => watch.start(controller),
      pull: () => watch.flush(),
      cancel: () => watch.abandon(),
    },
    new ByteLengthQueuingStrategy({ highWaterMark: chunkSize }),
  );
}

const chunkSize = 64 * 1024;
const encoder = new TextEncoder();

class Watch {
  readonly #request: WatchRequest;
  readonly #deps: WatchDeps;
  readonly #signal: AbortSignal;
  readonly #start: Start;
  /** The backlog plus the limit, because a client may read the backlog slowly. */
  readonly #maxWaiting: number;
  readonly #stopListening: () => void;
  readonly #stopTimer: () => void;
  #stopBookmarks = (): void => {};
  #waiting: Frame[];
  #next = 0;
  #isClosing = false;
  #controller: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>> | undefined;

  constructor(request: WatchRequest, deps: WatchDeps, signal: AbortSignal) {
    this.#request = request;
    this.#deps = deps;
    this.#signal = signal;
    const { query } = request;
    const { store, clock, random, settings } = deps;
    const isStreamingList = wantsInitialEvents(query, settings);
    const wanted = readRevision(query.get("resourceVersion")) ?? 0;
    const asked = Number(query.get("timeoutSeconds") ?? 0);
    // Without a timeout, a server ends a watch after 30 to 60 minutes.
    const endsAfter = asked > 0 ? seconds(asked) : milliseconds(1_800_000 * (1 + random.fraction()));
    const bookmarkEvery = milliseconds(30_000 + random.fraction() * 30_000);
    this.#start = startOf(request, deps, isStreamingList, wanted);
    this.#waiting = this.#start.backlog;
    this.#maxWaiting = this.#waiting.length + settings.waitingLimit;
    this.#stopListening = store.onWrite((change) => this.#onWrite(change));
    this.#stopTimer = clock.after(endsAfter, () => this.#close());
    if (isTrue(query.get("allowWatchBookmarks"))) this.#scheduleBookmark(bookmarkEvery);
    signal.addEventListener("abort", this.#onAbort, { once: true });
  }

  start(controller: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>>): void {
    this.#controller = controller;
    if (this.#signal.aborted) this.#onAbort();
    else if (this.#start.isOver === true) this.#close();
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
        if (frame !== undefined) text += this.#request.encode(frame);
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

  /** Ends without sending waiting frames, as when the client has closed the stream. */
  abandon(): void {
    this.#isClosing = true;
    this.#stopSources();
    this.#waiting = [];
    this.#controller = undefined;
  }

  #onWrite(change: StoredChange): void {
    if (change.storage !== this.#request.storage || change.revision <= this.#start.since) return;
    const frame = frameFor(this.#request, change);
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

  #scheduleBookmark(every: Milliseconds): void {
    const { store, clock } = this.#deps;
    this.#stopBookmarks = clock.after(every, () => {
      this.#push({ type: "BOOKMARK", revision: store.revision, isEndOfInitialEvents: false });
      if (!this.#isClosing) this.#scheduleBookmark(every);
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
    this.abandon();
    controller?.error(this.#signal.reason);
  };

  #stopSources(): void {
    this.#stopListening();
    this.#stopBookmarks();
    this.#stopTimer();
    this.#signal.removeEventListener("abort", this.#onAbort);
  }
}

// Turns a watch request into a plan: where it starts, what it sends first, and how the emulated server version answers.
// serve-watch.ts sends it.

import { milliseconds, seconds } from "../../../core/brand.ts";
import type { Random } from "../../../platform/random.ts";
import { expired, invalid, notSupported } from "../objects/api-error.ts";
import type { KubeObject } from "../objects/kube-object.ts";
import { listOptionsInvalid, readRevision } from "./list-objects.ts";
import type { Store } from "./object-store.ts";
import { bookmarkDelay, errorFrame, type Frame, frameFor, type WatchPlan } from "./serve-watch.ts";

/** `on` as since Kubernetes 1.34; `off` answers 422 as 1.33 does; `ignored` as older servers that do not know the parameter. */
type StreamingLists = "on" | "off" | "ignored";
/** How a watch from a compacted revision is refused: by an ERROR event, as servers do, or by the HTTP status, as proxies and old servers may. */
type GoneAs = "event" | "status";

export interface WatchSettings {
  readonly streamingLists: StreamingLists;
  readonly goneAs: GoneAs;
  readonly waitingLimit: number;
}

interface WatchRequest {
  readonly storage: string;
  readonly namespace: string;
  readonly matches: (object: KubeObject) => boolean;
  readonly query: URLSearchParams;
  readonly encode: (frame: Frame) => string;
}

const isTrue = (value: string | null): boolean => value === "true" || value === "1";

/**
 * Whether the request is a streaming list; undefined when it has no such parameter. Refuses what the emulated version
 * refuses.
 */
function wantsInitialEvents(query: URLSearchParams, { streamingLists }: WatchSettings): boolean | undefined {
  if (streamingLists === "ignored") return undefined;
  const asked = query.get("sendInitialEvents");
  const match = query.get("resourceVersionMatch") ?? "";
  if (asked === null) {
    if (match !== "") {
      throw listOptionsInvalid(
        "resourceVersionMatch",
        "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
      );
    }
    return undefined;
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

export function planWatch(
  request: WatchRequest,
  settings: WatchSettings,
  store: Store,
  random: Random,
): WatchPlan {
  const { storage, namespace, matches, query, encode } = request;
  const isStreamingList = wantsInitialEvents(query, settings);
  const wanted = readRevision(query.get("resourceVersion"));
  const wantsBookmarks = isTrue(query.get("allowWatchBookmarks"));
  const asked = Number(query.get("timeoutSeconds") ?? 0);
  // Without a timeout, a server ends a watch after 30 to 60 minutes.
  const endsAfter = asked > 0 ? seconds(asked) : milliseconds(1_800_000 * (1 + random.fraction()));
  const base = {
    storage,
    namespace,
    matches,
    wantsBookmarks,
    encode,
    endsAfter,
    bookmarkEvery: bookmarkDelay(random.fraction()),
    waitingLimit: settings.waitingLimit,
  };
  const isFromNow = wanted === undefined || wanted === 0;
  if (isStreamingList === true || (isStreamingList === undefined && isFromNow)) {
    const backlog = store
      .list(storage, namespace)
      .filter(matches)
      .map((object): Frame => ({ type: "ADDED", object }));
    if (isStreamingList === true && wantsBookmarks) {
      backlog.push({ type: "BOOKMARK", revision: store.revision, isEndOfInitialEvents: true });
    }
    return { ...base, backlog, since: store.revision };
  }
  if (isFromNow) return { ...base, backlog: [], since: store.revision };
  const missed = store.changesSince(storage, wanted);
  if (missed === undefined) {
    const gone = expired(`too old resource version: ${wanted} (${store.revision})`);
    if (settings.goneAs === "status") throw gone;
    return { ...base, backlog: [errorFrame(gone.status)], since: store.revision, isOver: true };
  }
  const plan = { ...base, backlog: [], since: Math.max(wanted, store.revision) };
  const backlog = missed.flatMap((change) => frameFor(plan, change) ?? []);
  return { ...plan, backlog };
}

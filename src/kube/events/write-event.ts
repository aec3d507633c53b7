// Writes one series of an event to the API server. The event's name is derived from its content, so the same problem
// remains a single event with a count when the process restarts, reloads or hands over leadership.

import { hash } from "node:crypto";
import type { KubeApi } from "../client/api.ts";
import { isKubeError } from "../errors/kube-error.ts";
import { type Event, type ObjectKey, toTime } from "../objects.ts";
import { events } from "../resources.ts";
import type { Correlated } from "./event-correlator.ts";

const maxMessage = 1024;

/** Begins like the event names of the Go managers, which end with a time instead. */
function keyOfEvent({ occurrence, isCombined }: Correlated): Required<ObjectKey> {
  const { component, object, type, reason, message } = occurrence;
  const identity = [component, object.kind, object.uid, type, reason, isCombined ? "combined" : message];
  const id = hash("sha256", identity.join("\0")).slice(0, 16);
  const namespace = object.namespace === undefined || object.namespace === "" ? "default" : object.namespace;
  return { name: `${object.name}.${id}`, namespace };
}

/** Creates the event, or updates its count. */
export async function writeEvent(api: KubeApi, event: Correlated, signal: AbortSignal): Promise<void> {
  const { series } = event;
  const key = keyOfEvent(event);
  if (series.earlier === undefined) {
    if (await create(api, key, event, signal)) {
      series.earlier = 0;
      return;
    }
  }
  try {
    series.earlier ??= await earlierCount(api, key, event, signal);
    await updateCount(api, key, event, signal);
  } catch (error) {
    // The server deletes events after an hour; the next occurrence is then a new event.
    if (!isKubeError(error, "not-found")) throw error;
    series.earlier = undefined;
    await create(api, key, event, signal);
    series.earlier = 0;
  }
}

/** Returns false if the event exists. */
async function create(
  api: KubeApi,
  metadata: Required<ObjectKey>,
  { series, occurrence, count, last }: Correlated,
  signal: AbortSignal,
): Promise<boolean> {
  const { component, object, type, reason, message } = occurrence;
  const draft = {
    metadata,
    involvedObject: object,
    type,
    reason,
    message: message.slice(0, maxMessage),
    count,
    firstTimestamp: toTime(series.first),
    lastTimestamp: toTime(last),
    source: { component },
    reportingComponent: component,
  };
  try {
    await api.create(events, draft, signal);
    return true;
  } catch (error) {
    if (!isKubeError(error, "already-exists")) throw error;
    return false;
  }
}

/**
 * The count that an earlier process wrote. The manager may patch events but not read them, and an empty patch returns the
 * event unchanged.
 */
async function earlierCount(
  api: KubeApi,
  key: Required<ObjectKey>,
  { series }: Correlated,
  signal: AbortSignal,
): Promise<number> {
  const existing: Event = await patch(api, key, {}, signal);
  // The event is this process's own if the response to its creation was lost.
  const isOwn = series.failures !== undefined && existing.firstTimestamp === toTime(series.first);
  return isOwn ? 0 : (existing.count ?? 0);
}

function updateCount(
  api: KubeApi,
  key: Required<ObjectKey>,
  { series, occurrence, count, last }: Correlated,
  signal: AbortSignal,
): Promise<Event> {
  const message = occurrence.message.slice(0, maxMessage);
  const total = (series.earlier ?? 0) + count;
  return patch(api, key, { count: total, lastTimestamp: toTime(last), message }, signal);
}

function patch(api: KubeApi, key: ObjectKey, body: object, signal: AbortSignal): Promise<Event> {
  return api.patch(events, key, { contentType: "application/strategic-merge-patch+json", body }, signal);
}

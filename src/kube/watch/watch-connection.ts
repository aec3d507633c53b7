// A watch connection: first a streaming list if the position has no resource version, then changes until it ends.

import { type Milliseconds, milliseconds, seconds } from "../../core/brand.ts";
import { defined } from "../../core/defined.ts";
import type { Clock } from "../../platform/clock.ts";
import { KubeError } from "../errors/kube-error.ts";
import { isNewer, type KubeObject } from "../objects.ts";
import type { WatchOptions, WatchPosition, WatchStep } from "./watch-step.ts";
import { readWatchStream, SilenceError } from "./watch-stream.ts";

/**
 * Bookmarks arrive about once a minute, and the first one after a list within two minutes. After a longer silence on all
 * connections, the objects are listed again: an accepted connection proves nothing, and a server that was restored to older
 * revisions sends no change until it reaches the last revision that it sent.
 */
export const maxSilence = seconds(150);
/** A server that supports streaming lists starts sending immediately, and completes the list within a minute. */
const maxInitialSilence = seconds(10);
const maxInitialList = seconds(60);

/** A connection that ends sooner counts as a failure: immediately if it has sent nothing, otherwise after several in a row. */
export const minDuration = seconds(1);

/** The server accepted a streaming list but did not complete it in time. It is an old server that ignores the parameter. */
export class UnfinishedListError extends Error {}

export async function* follow<T extends KubeObject>(
  { api, resource, clock, random, namespace, labelSelector, fieldSelector }: WatchOptions<T>,
  position: WatchPosition,
  signal: AbortSignal,
): AsyncGenerator<WatchStep<T>, void> {
  let initial = position.resourceVersion === undefined;
  const listDeadline = clock.monotonic() + maxInitialList;
  const query = {
    watch: true,
    allowWatchBookmarks: true,
    // Jitter, so that the watches of all replicas do not reconnect in the same second.
    timeoutSeconds: Math.round(240 + random.fraction() * 50),
    labelSelector,
    fieldSelector,
    ...(initial
      ? { sendInitialEvents: true, resourceVersionMatch: "NotOlderThan" }
      : { resourceVersion: position.resourceVersion }),
  };
  if (initial) yield { type: "begin" };
  const stream = await api.openWatch(resource, { query, ...defined({ namespace }) }, signal);
  if (initial) position.incompleteLists += 1;
  if (!initial && position.endedNormally) yield { type: "resumed" };
  const silenceLimit = (): Milliseconds => {
    const now = clock.monotonic();
    if (initial) return milliseconds(Math.min(maxInitialSilence, listDeadline - now));
    return milliseconds(Math.max(minDuration, position.heardAt + maxSilence - now));
  };
  const options = { resource, origin: api.origin, clock, silenceLimit };
  try {
    for await (const event of readWatchStream(stream, options, signal)) {
      if (event.type === "bookmark") {
        const { resourceVersion } = event;
        if (!initial) yield { type: "bookmark", resourceVersion };
        else if (event.endsInitial) yield { type: "complete", resourceVersion };
        if (event.endsInitial) initial = false;
        if (initial) continue;
        if (position.resourceVersion !== undefined && isNewer(position.resourceVersion, resourceVersion)) {
          throw new KubeError(
            "gone",
            `A bookmark of ${resource.plural} has the version ${resourceVersion}, which is older than ${position.resourceVersion} before it: the API server was restored from a backup. Fairlead will list again.`,
            { operation: `watch ${resource.plural}` },
          );
        }
        progressTo(resourceVersion, position, clock);
        position.incompleteLists = 0;
        continue;
      }
      // Until the list is complete, a resource version belongs to one object and cannot be resumed from.
      if (!initial) progressTo(event.object.metadata.resourceVersion, position, clock);
      if (event.type === "deleted") yield { type: "deleted", object: event.object };
      else yield { type: "object", object: event.object, initial };
      if (initial && clock.monotonic() > listDeadline) throw new UnfinishedListError();
    }
  } catch (error) {
    if (!(error instanceof SilenceError)) throw error;
    if (initial) throw new UnfinishedListError();
    stream.stalled();
  }
  if (initial) {
    throw new KubeError(
      "unreachable",
      `The API server ended a streaming list of ${resource.plural} before it was complete. Fairlead will list again.`,
      { operation: `watch ${resource.plural}` },
    );
  }
}

export function progressTo(resourceVersion: string, position: WatchPosition, clock: Clock): void {
  position.resourceVersion = resourceVersion;
  position.hasProgressed = true;
  position.heardAt = clock.monotonic();
}

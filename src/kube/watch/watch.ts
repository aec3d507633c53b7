// Lists and watches the objects of a resource until the signal is aborted: a complete list, then changes, and recovery from
// every failure. It stores nothing; `Reflector` feeds the steps into a store.

import { type Milliseconds, milliseconds, minutes, seconds } from "../../core/brand.ts";
import { defined } from "../../core/defined.ts";
import { formatDuration } from "../../core/duration.ts";
import { type Clock, sleep } from "../../platform/clock.ts";
import { linkedController } from "../../runtime/abortable.ts";
import { backoff } from "../../runtime/backoff.ts";
import type { KubeApi } from "../client/api.ts";
import { pageSize } from "../client/list-all.ts";
import { isKubeError, KubeError } from "../errors/kube-error.ts";
import { isNewer, type KubeObject } from "../objects.ts";
import type { WatchOptions, WatchPosition, WatchStep } from "./watch-step.ts";
import { readWatchStream, SilenceError } from "./watch-stream.ts";

/** A connection that ends sooner counts as a failure: at once if it has sent nothing, else after several in a row. */
const minDuration = seconds(1);
const maxShortConnections = 3;
const failureBackoff = { first: milliseconds(800), cap: seconds(30) };
/** A longer `Retry-After` would leave the cache outdated because of a mistake of a proxy. */
const maxRetryAfter = minutes(5);
/** How long lists are paged after a streaming list failed. The API server may be upgraded in the meantime. */
const pagedFor = minutes(60);
/** How many backoffs in a row a response to another request may end early. More would be useless if only this watch fails. */
const maxShortenedBackoffs = 3;
/** Streaming lists in a row that may end before they are complete; then the objects are listed in pages. */
const maxIncompleteLists = 3;
/** Lists in a row after "410 Gone" without backoff, until a change or a bookmark comes. */
const maxImmediateLists = 3;

function toKubeError(error: unknown, resource: string): KubeError {
  if (error instanceof KubeError) return error;
  return new KubeError(
    "unexpected",
    `${error instanceof Error ? error.message : "Unknown failure."} Fairlead will reconnect.`,
    { operation: `watch ${resource}`, cause: error },
  );
}

function endedEarly(resource: string): KubeError {
  return new KubeError(
    "unreachable",
    `The API server closed a watch of ${resource} immediately. Fairlead will reconnect.`,
    { operation: `watch ${resource}` },
  );
}

function endsRepeatedly(resource: string): KubeError {
  return new KubeError(
    "unreachable",
    `The API server ends the watch of ${resource} repeatedly, each time within ${formatDuration(minDuration)}. Fairlead will reconnect, with increasing delays. Check for a proxy that ends connections.`,
    { operation: `watch ${resource}` },
  );
}

/** Waits for `retryIn`, or until a response to another request shows that the outage is over. Returns whether it was. */
async function waitForServer<T extends KubeObject>(
  { api, clock, random }: WatchOptions<T>,
  retryIn: Milliseconds,
  signal: AbortSignal,
): Promise<boolean> {
  const afterAnswer = milliseconds(200 + 800 * random.fraction());
  return backoffUntilAnswered(api, clock, { max: retryIn, afterAnswer }, signal);
}

/** Ends without an error when the signal is aborted. */
export async function* watch<T extends KubeObject>(
  options: WatchOptions<T>,
  signal: AbortSignal,
): AsyncGenerator<WatchStep<T>, void> {
  const { resource, clock, random } = options;
  const position: WatchPosition = {
    resourceVersion: undefined,
    pagedUntil: Number.NEGATIVE_INFINITY,
    incompleteLists: 0,
    hasProgressed: false,
    heardAt: clock.monotonic(),
    endedNormally: false,
  };
  let failures = 0;
  let shortenedBackoffs = 0;
  let goneInARow = 0;
  let shortInARow = 0;
  while (!signal.aborted) {
    if (clock.monotonic() - position.heardAt >= maxSilence) position.resourceVersion = undefined;
    const wasInitial = position.resourceVersion === undefined;
    const started = clock.monotonic();
    position.hasProgressed = false;
    const isPaged = wasInitial && started < position.pagedUntil;
    const pageNextLists = (): void => {
      position.pagedUntil = clock.monotonic() + pagedFor;
    };
    let failure: KubeError | undefined;
    try {
      if (isPaged) yield* listPages(options, position, signal);
      else yield* follow(options, position, signal);
    } catch (error) {
      if (signal.aborted) return;
      const isRefused = isKubeError(error, "invalid", "precondition", "forbidden");
      if (wasInitial && !isPaged && (isRefused || error instanceof UnfinishedListError)) {
        pageNextLists();
        continue;
      }
      failure = toKubeError(error, resource.plural);
      if (!isPaged && position.incompleteLists >= maxIncompleteLists) pageNextLists();
    }
    const lasted = clock.monotonic() - started;
    if (lasted >= minDuration) shortInARow = 0;
    else if (failure === undefined && !isPaged) shortInARow += 1;
    const isSteady = shortInARow <= maxShortConnections;
    if (position.hasProgressed && isSteady) {
      failures = 0;
      shortenedBackoffs = 0;
      if (!wasInitial) goneInARow = 0;
    }
    if (failure === undefined) {
      const isNormal = position.hasProgressed || lasted >= minDuration;
      position.endedNormally = isNormal && isSteady && !isPaged;
      if (isNormal && isSteady) continue;
      failure = isNormal ? endsRepeatedly(resource.plural) : endedEarly(resource.plural);
    }
    // A position that the server does not accept, or that cannot be trusted, needs a new list.
    const mustList = failure.kind === "gone" || failure.kind === "unexpected" || failure.kind === "invalid";
    if (mustList) position.resourceVersion = undefined;
    // A server that reports every new list as too old must not be listed in a tight loop.
    if (failure.kind === "gone" && !wasInitial && goneInARow++ < maxImmediateLists) continue;
    failures += 1;
    position.endedNormally = false;
    // Never earlier than the server's Retry-After, up to a limit.
    const requested = Math.min(failure.retryAfter ?? 0, maxRetryAfter);
    const retryIn = milliseconds(Math.max(requested, backoff(failures, failureBackoff, random)));
    yield { type: "failed", error: failure, retryIn };
    try {
      const isOutage = isKubeError(failure, "unreachable", "timeout", "server") && !failure.retryAfter;
      if (!isOutage || shortenedBackoffs >= maxShortenedBackoffs) await sleep(clock, retryIn, signal);
      else if (await waitForServer(options, retryIn, signal)) shortenedBackoffs += 1;
    } catch {
      return;
    }
  }
}

// One watch connection: first a streaming list where the position has no resource version, then changes until it ends.

/**
 * Bookmarks come about once a minute, but the first one after a list only after up to two. After a longer silence, over all connections, the objects are listed again: a connection that is
 * accepted proves nothing, and a server that was restored to older revisions sends no change before it reaches the last one that it
 * sent.
 */
export const maxSilence = seconds(150);
/** A server that supports streaming lists starts sending immediately, and completes the list within a minute. */
const maxInitialSilence = seconds(10);
const maxInitialList = seconds(60);

/** The server accepted a streaming list but did not complete it in time: an old one that ignores the parameter. */
class UnfinishedListError extends Error {}

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

function progressTo(resourceVersion: string, position: WatchPosition, clock: Clock): void {
  position.resourceVersion = resourceVersion;
  position.hasProgressed = true;
  position.heardAt = clock.monotonic();
}

// A complete list in pages, for servers without streaming lists.

export async function* listPages<T extends KubeObject>(
  { api, resource, clock, namespace, labelSelector, fieldSelector, collectGarbage }: WatchOptions<T>,
  position: WatchPosition,
  signal: AbortSignal,
): AsyncGenerator<WatchStep<T>, void> {
  yield { type: "begin" };
  const selection = defined({ namespace, labelSelector, fieldSelector });
  let limit = pageSize;
  let token: string | undefined;
  for (;;) {
    const options = { ...selection, ...defined({ limit, continue: token }) };
    const page = await api.listPage(resource, options, signal);
    limit = page.limit ?? limit;
    for (const object of page.items) yield { type: "object", object, initial: true };
    token = page.continue;
    if (token === undefined) {
      progressTo(page.resourceVersion, position, clock);
      yield { type: "complete", resourceVersion: page.resourceVersion };
      return;
    }
    // A page is some 20 MB of text and objects, nearly all garbage. Without this, ten pages pile up before they are
    // collected: 171 MiB with 15,000 nodes instead of 100.
    collectGarbage?.();
    await sleep(clock, milliseconds(0), signal);
  }
}

// The backoff of a watch after an outage: ends early, shortly after the server has answered any other request, because that
// shows that the outage is over.

export interface OutageBackoff {
  readonly max: Milliseconds;
  /** Jitter, so that not every watch reconnects to a recovered server at the same moment. */
  readonly afterAnswer: Milliseconds;
}

/** Returns whether an answer ended it early; rejects with the signal's reason. */
async function backoffUntilAnswered(
  api: Pick<KubeApi, "whenAnswered">,
  clock: Clock,
  { max, afterAnswer }: OutageBackoff,
  signal: AbortSignal,
): Promise<boolean> {
  const { controller, unlink } = linkedController(signal);
  const elapsed = sleep(clock, max, controller.signal).then(() => false);
  const answered = api
    .whenAnswered(controller.signal)
    .then(() => sleep(clock, afterAnswer, controller.signal))
    .then(() => true);
  try {
    return await Promise.race([elapsed, answered]);
  } finally {
    controller.abort();
    unlink();
    await Promise.allSettled([elapsed, answered]);
  }
}

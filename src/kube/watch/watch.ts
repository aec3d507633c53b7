// Lists and watches the objects of a resource until the signal is aborted: a complete list, then changes, and recovery from
// every failure. It stores nothing; `Reflector` feeds the steps into a store.

import { type Milliseconds, milliseconds, minutes, seconds } from "../../core/brand.ts";
import { sleep } from "../../platform/clock.ts";
import { backoff } from "../../runtime/backoff.ts";
import { isKubeError, KubeError } from "../errors/kube-error.ts";
import type { KubeObject } from "../objects.ts";
import { backoffUntilAnswered } from "./backoff-until-answered.ts";
import { follow, UnfinishedListError } from "./follow.ts";
import { listPages } from "./list-pages.ts";
import type { WatchOptions, WatchPosition, WatchStep } from "./watch-step.ts";

/** A connection that ends sooner counts as a failure: at once if it has sent nothing, else after several in a row. */
const minDuration = seconds(1);
const maxShortConnections = 3;
const failureBackoff = { first: milliseconds(800), cap: seconds(30) };
/** A longer `Retry-After` would leave the cache outdated because of a mistake of a proxy. */
const maxRetryAfter = minutes(5);
/** How long lists are paged after a streaming list failed. The API server may be upgraded in the meantime. */
const pagedFor = minutes(60);
/** Backoffs in a row that a response to another request may end early, as this watch may be the only one that fails. */
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
    `The API server ends the watch of ${resource} repeatedly, each time within ${minDuration / 1000}s. Fairlead will reconnect, with increasing delays. Check for a proxy that ends connections.`,
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
    endedNormally: false,
  };
  let failures = 0;
  let shortenedBackoffs = 0;
  let goneInARow = 0;
  let shortInARow = 0;
  while (!signal.aborted) {
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

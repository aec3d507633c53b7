// Everything that happens to a kind of object, for as long as the signal allows: a complete list, then changes, again and
// again over whatever breaks. It keeps no objects; a store does.

import { type Milliseconds, milliseconds, seconds } from "../../core/brand.ts";
import { type Clock, sleep } from "../../platform/clock.ts";
import { collectGarbage } from "../../platform/memory.ts";
import type { Random } from "../../platform/random.ts";
import { backoff } from "../../runtime/backoff.ts";
import type { KubeApi } from "../client/api.ts";
import { isKubeError, KubeError } from "../errors/kube-error.ts";
import type { KubeObject } from "../objects.ts";
import type { Resource } from "../resources.ts";
import { backoffUntilAnswered } from "./backoff-until-answered.ts";
import { readWatchStream, SilenceError } from "./watch-stream.ts";

export type WatchStep<T> =
  /** A list begins; until "complete" comes, what was known before stays true. A second "begin" discards the first. */
  | { readonly type: "begin" }
  | { readonly type: "object"; readonly object: T; readonly initial: boolean }
  | { readonly type: "deleted"; readonly object: T }
  | { readonly type: "complete"; readonly resourceVersion: string }
  /** Nothing changed, and the server says so. */
  | { readonly type: "bookmark"; readonly resourceVersion: string }
  /** A connection ended as it may, and the server goes on from where it was. */
  | { readonly type: "resumed" }
  | { readonly type: "failed"; readonly error: KubeError; readonly retryIn: Milliseconds };

/** What a watch asks of a server. */
export type WatchApi = Pick<KubeApi, "origin" | "openWatch" | "listPage" | "whenAnswered">;

export interface WatchOptions<T extends KubeObject> {
  readonly api: WatchApi;
  readonly resource: Resource<T>;
  readonly clock: Clock;
  readonly random: Random;
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
}

/**
 * Bookmarks come about once a minute, but a server need not send any where nothing happens. After more silence than this
 * another connection shows whether somebody is still there.
 */
const longestSilence = seconds(100);
/** A server that knows streaming lists starts sending within a moment, and is done within a minute. */
const longestInitialSilence = seconds(10);
const longestInitial = seconds(60);
const pageSize = 500;
/** A connection that ends sooner than this without a word counts as a failure. */
const shortest = seconds(1);
/** After failures in a row. */
const rests = { first: milliseconds(800), cap: seconds(30) };
/** Rests that another one's answer may cut short, until the watch itself gets somewhere: it may be the only one that fails. */
const mostShortened = 3;
/** Lists that are made anew without a rest, until a change or a bookmark comes after one. */
const mostGoneAtOnce = 3;

/** Where the watch stands, across connections. */
interface Position {
  resourceVersion: string | undefined;
  canStream: boolean;
  progressed: boolean;
  /** The connection before this one ended as it may. */
  wasHeld: boolean;
}

function toKubeError(error: unknown, resource: string): KubeError {
  return error instanceof KubeError
    ? error
    : new KubeError(
        "unexpected",
        `${error instanceof Error ? error.message : "Unknown failure."} We connect again.`,
        {
          operation: `watch ${resource}`,
          cause: error,
        },
      );
}

/** Thrown when a streaming list was accepted and did not end in time: an old server that ignores the parameter. */
class NoEndOfInitialEvents extends Error {}

async function* follow<T extends KubeObject>(
  { api, resource, clock, random, namespace, ...selectors }: WatchOptions<T>,
  at: Position,
  signal: AbortSignal,
): AsyncGenerator<WatchStep<T>, void> {
  let initial = at.resourceVersion === undefined;
  const initialUntil = clock.monotonic() + longestInitial;
  const query = {
    watch: true,
    allowWatchBookmarks: true,
    // Spread, so that all watches of all replicas do not come back in the same second.
    timeoutSeconds: Math.round(240 + random.fraction() * 50),
    ...selectors,
    ...(initial
      ? { sendInitialEvents: true, resourceVersionMatch: "NotOlderThan" }
      : { resourceVersion: at.resourceVersion }),
  };
  if (initial) yield { type: "begin" };
  const where = namespace === undefined ? { query } : { namespace, query };
  const stream = await api.openWatch(resource, where, signal);
  if (!initial && at.wasHeld) yield { type: "resumed" };
  const remaining = (): Milliseconds =>
    initial
      ? milliseconds(Math.min(longestInitialSilence, initialUntil - clock.monotonic()))
      : longestSilence;
  const options = { resource, origin: api.origin, clock, longestSilence: remaining };
  try {
    for await (const event of readWatchStream(stream, options, signal)) {
      at.progressed = true;
      if (event.type === "bookmark") {
        const { resourceVersion } = event;
        if (!initial) yield { type: "bookmark", resourceVersion };
        else if (event.endsInitial) yield { type: "complete", resourceVersion };
        if (event.endsInitial) initial = false;
        // Before the end, a resource version is of one object and says nothing of the list.
        if (!initial) at.resourceVersion = resourceVersion;
        continue;
      }
      if (!initial) at.resourceVersion = event.object.metadata.resourceVersion;
      if (event.type === "deleted") yield { type: "deleted", object: event.object };
      else yield { type: "object", object: event.object, initial };
      if (initial && clock.monotonic() > initialUntil) throw new NoEndOfInitialEvents();
    }
  } catch (error) {
    if (!(error instanceof SilenceError)) throw error;
    if (initial) throw new NoEndOfInitialEvents();
    stream.stalled();
  }
}

async function* listPages<T extends KubeObject>(
  { api, resource, clock, namespace, labelSelector, fieldSelector }: WatchOptions<T>,
  at: Position,
  signal: AbortSignal,
): AsyncGenerator<WatchStep<T>, void> {
  yield { type: "begin" };
  const selection = {
    limit: pageSize,
    ...(namespace !== undefined && { namespace }),
    ...(labelSelector !== undefined && { labelSelector }),
    ...(fieldSelector !== undefined && { fieldSelector }),
  };
  let token: string | undefined;
  for (;;) {
    const page = await api.listPage(
      resource,
      token === undefined ? selection : { ...selection, continue: token },
      signal,
    );
    for (const object of page.items) yield { type: "object", object, initial: true };
    token = page.continue;
    if (token === undefined) {
      at.resourceVersion = page.resourceVersion;
      at.progressed = true;
      yield { type: "complete", resourceVersion: page.resourceVersion };
      return;
    }
    // A page is some 20 MB of text and objects of which little is kept. Left alone, ten of them pile up before they are
    // collected: 171 MiB with 15,000 nodes instead of 100.
    collectGarbage();
    await sleep(clock, milliseconds(0), signal);
  }
}

/** Ends only when the signal is aborted or the consumer leaves; neither is an error. */
export async function* watch<T extends KubeObject>(
  options: WatchOptions<T>,
  signal: AbortSignal,
): AsyncGenerator<WatchStep<T>, void> {
  const { api, resource, clock, random } = options;
  const at: Position = { resourceVersion: undefined, canStream: true, progressed: false, wasHeld: false };
  let failures = 0;
  let shortened = 0;
  let goneInARow = 0;
  while (!signal.aborted) {
    const wasInitial = at.resourceVersion === undefined;
    const started = clock.monotonic();
    at.progressed = false;
    const isPaged = wasInitial && !at.canStream;
    let failure: KubeError | undefined;
    try {
      if (isPaged) yield* listPages(options, at, signal);
      else yield* follow(options, at, signal);
    } catch (error) {
      if (signal.aborted) return;
      const isRefused = isKubeError(error, "invalid", "precondition", "forbidden");
      if (wasInitial && at.canStream && (isRefused || error instanceof NoEndOfInitialEvents)) {
        at.canStream = false;
        continue;
      }
      failure = toKubeError(error, resource.plural);
    }
    if (at.progressed) {
      failures = 0;
      shortened = 0;
    }
    if (at.progressed && !wasInitial) goneInARow = 0;
    if (failure === undefined) {
      const isFine = at.progressed || clock.monotonic() - started >= shortest;
      at.wasHeld = isFine && !isPaged;
      if (isFine) continue;
      failure = new KubeError(
        "unreachable",
        `A watch of ${resource.plural} ended at once without a word. We connect again.`,
        {
          operation: `watch ${resource.plural}`,
        },
      );
    }
    // What cannot be resumed, or read, is listed anew.
    const mustList = failure.kind === "gone" || failure.kind === "unexpected" || failure.kind === "invalid";
    if (mustList) at.resourceVersion = undefined;
    // A server that calls every list too old the moment it was made is not listed without end.
    if (failure.kind === "gone" && !wasInitial && goneInARow++ < mostGoneAtOnce) continue;
    failures += 1;
    at.wasHeld = false;
    // What the server asked for is never undercut.
    const retryIn = milliseconds(Math.max(failure.retryAfter ?? 0, backoff(failures, rests, random)));
    yield { type: "failed", error: failure, retryIn };
    try {
      const isOutage = isKubeError(failure, "unreachable", "timeout", "server") && !failure.retryAfter;
      if (!isOutage || shortened >= mostShortened) await sleep(clock, retryIn, signal);
      else {
        const afterAnswer = milliseconds(200 + 800 * random.fraction());
        const isCutShort = await backoffUntilAnswered(api, clock, { atMost: retryIn, afterAnswer }, signal);
        if (isCutShort) shortened += 1;
      }
    } catch {
      return;
    }
  }
}

// Runs the controllers only while their caches are known to be current: after a complete list that began when the Lease was already
// held, and until the API server has been silent for too long.

import { type Milliseconds, milliseconds, seconds } from "../../core/brand.ts";
import { formatDuration } from "../../core/duration.ts";
import { maxSilence } from "../../kube/watch/watch.ts";
import { type Clock, sleep } from "../../platform/clock.ts";
import { linkedController } from "../../runtime/abortable.ts";
import { runTogether, type Task } from "../../runtime/run-together.ts";
import type { WriteGate } from "../../runtime/write-gate.ts";
import type { Log } from "../../telemetry/log.ts";

export interface FollowedCache {
  /** The plural name, for messages. */
  readonly resource: string;
  /** Time since the API server last sent something about it; undefined before the first list is complete. */
  age(): Milliseconds | undefined;
  /** Resolves when a list is complete that began at this moment (monotonic) or later. */
  whenListed(since: number, signal: AbortSignal): Promise<void>;
}

export interface CurrentCachesOptions {
  readonly clock: Clock;
  readonly log: Pick<Log, "info" | "warn">;
}

/** After `maxSilence` the watch lists again, which takes a moment. */
const maxAge = milliseconds(maxSilence + seconds(10));
const reportAfter = seconds(10);

export class CurrentCaches {
  readonly #options: CurrentCachesOptions;
  readonly #followed = new Set<FollowedCache>();
  /** One entry for each session that waits for a list. */
  readonly #awaited = new Set<{ readonly resource: string }>();

  constructor(options: CurrentCachesOptions) {
    this.#options = options;
  }

  /** Includes the cache until the returned function is called. */
  follow(cache: FollowedCache): () => void {
    this.#followed.add(cache);
    return () => this.#followed.delete(cache);
  }

  /** The resources whose list a leader waits for. */
  get awaited(): readonly string[] {
    return namesOf(this.#awaited);
  }

  /** Refuses writes that were decided before a cache became outdated. */
  readonly gate: WriteGate = () => {
    const stale = this.#stale();
    return stale.length === 0 || { reason: `${silenceOf(stale)}, so its cache may be outdated.` };
  };

  /** Runs the tasks while all caches are current. They start again when the caches are current again. */
  async run(tasks: readonly Task[], signal: AbortSignal): Promise<void> {
    let due: readonly FollowedCache[] = [...this.#followed];
    do {
      await this.#makeCurrent(due, signal);
      due = await this.#runUntilStale(tasks, signal);
    } while (due.length > 0 && !signal.aborted);
  }

  async #makeCurrent(due: readonly FollowedCache[], signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options;
    let isReported = false;
    const cancel = clock.after(reportAfter, () => {
      isReported = true;
      log.warn(
        `The controllers have waited ${formatDuration(reportAfter)} for a complete list of ${this.awaited.join(" and ")}. Nothing is changed in the cloud or the cluster before it succeeds. Why lists fail is logged separately.`,
      );
    });
    for (let next = due; next.length > 0 && !signal.aborted; next = this.#stale()) {
      const since = clock.monotonic();
      await Promise.all(next.map((cache) => this.#list(cache, since, signal)));
    }
    cancel();
    if (isReported && !signal.aborted) log.info("All caches are current; the controllers run");
  }

  async #list(cache: FollowedCache, since: number, signal: AbortSignal): Promise<void> {
    // The controllers close some of their caches when they stop.
    if (!this.#followed.has(cache)) return;
    const entry = { resource: cache.resource };
    this.#awaited.add(entry);
    await cache.whenListed(since, signal).catch(() => undefined);
    this.#awaited.delete(entry);
  }

  /** Returns the caches that have become outdated; none if the tasks have ended for another reason. */
  async #runUntilStale(tasks: readonly Task[], signal: AbortSignal): Promise<readonly FollowedCache[]> {
    const { log } = this.#options;
    const { controller, unlink } = linkedController(signal);
    const watching = this.#whenStale(controller.signal).then((stale) => {
      if (controller.signal.aborted) return [];
      log.warn(
        `${silenceOf(stale)}. The controllers stop, and nothing is changed in the cloud or the cluster before a complete list succeeds.`,
      );
      controller.abort(new Error("a cache may be outdated"));
      return stale;
    });
    try {
      await runTogether(tasks, controller.signal);
    } finally {
      unlink();
      controller.abort();
    }
    return watching;
  }

  #stale(): readonly FollowedCache[] {
    return [...this.#followed].filter((cache) => (cache.age() ?? 0) > maxAge);
  }

  async #whenStale(signal: AbortSignal): Promise<readonly FollowedCache[]> {
    const { clock } = this.#options;
    for (;;) {
      const stale = this.#stale();
      if (stale.length > 0 || signal.aborted) return stale;
      const oldest = Math.max(0, ...[...this.#followed].map((cache) => cache.age() ?? 0));
      await sleep(clock, milliseconds(maxAge - oldest + 1), signal).catch(() => undefined);
    }
  }
}

function namesOf(caches: Iterable<{ readonly resource: string }>): readonly string[] {
  return [...new Set([...caches].map(({ resource }) => resource))].toSorted();
}

function silenceOf(stale: readonly FollowedCache[]): string {
  const longest = Math.max(...stale.map((cache) => cache.age() ?? 0));
  return `The API server has sent nothing about ${namesOf(stale).join(" and ")} for ${Math.round(longest / 1000)}s`;
}

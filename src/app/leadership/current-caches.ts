// Runs the controllers only while their caches are known to be current: after a complete list that began when the Lease was already
// held, and until the API server has been silent for too long. A leader whose lists do not succeed for minutes steps down.

import { type Milliseconds, milliseconds, minutes, seconds } from "../../core/brand.ts";
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
  /** Aborted when the process stops. */
  readonly stop: AbortSignal;
}

/** After `maxSilence` the watch lists again, which takes a moment. */
const maxAge = milliseconds(maxSilence + seconds(10));
const reportAfter = seconds(10);
/** A leader without current caches for this long lets another replica lead. */
const stepDownAfter = minutes(5);

export class CurrentCaches {
  readonly #options: CurrentCachesOptions;
  readonly #followed = new Set<FollowedCache>();
  /** One entry for each session that waits for a list. */
  readonly #awaited = new Set<{ readonly resource: string }>();
  /** This replica has stepped down, and its caches are not current yet. */
  #isRecovering = false;
  #isRefusing = false;

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

  /** Whether this replica may acquire a Lease: one with outdated caches leaves it to others. */
  readonly mayLead = (): boolean => {
    const stale = this.#stale();
    const isRefusing = this.#isRecovering || stale.length > 0;
    if (isRefusing && !this.#isRefusing) {
      this.#options.log.warn(
        `${silenceOf(stale)}. This replica does not become leader before a complete list succeeds. Why lists fail is logged separately.`,
      );
    }
    this.#isRefusing = isRefusing;
    return !isRefusing;
  };

  /**
   * Runs the tasks while all caches are current. They start again when the caches are current again. Calls `stepDown` with the reason
   * and ends when that takes too long; without it, waits as long as it takes.
   */
  async run(tasks: readonly Task[], signal: AbortSignal, stepDown?: (why: string) => void): Promise<void> {
    let due: readonly FollowedCache[] = [...this.#followed];
    let patience = stepDownAfter;
    do {
      const missing = await this.#makeCurrent(due, stepDown && patience, signal);
      if (stepDown !== undefined && missing.length > 0 && !signal.aborted) {
        void this.#recover();
        stepDown(
          `no complete list of ${missing.join(" and ")} succeeded within ${formatDuration(stepDownAfter)}, so another replica should lead. This replica does not become leader again before its lists succeed. Why lists fail is logged separately.`,
        );
        return;
      }
      due = await this.#runUntilStale(tasks, signal);
      patience = milliseconds(stepDownAfter - maxAge);
    } while (due.length > 0 && !signal.aborted);
  }

  /** Returns the resources without a current cache when the patience ends, or the signal is aborted. */
  async #makeCurrent(
    due: readonly FollowedCache[],
    patience: Milliseconds | undefined,
    signal: AbortSignal,
  ): Promise<readonly string[]> {
    const { clock, log } = this.#options;
    const { controller, unlink } = linkedController(signal);
    let missing: readonly string[] = [];
    let isReported = false;
    const cancelReport = clock.after(reportAfter, () => {
      isReported = true;
      log.warn(
        `The controllers have waited ${formatDuration(reportAfter)} for a complete list of ${this.awaited.join(" and ")}. Nothing is changed in the cloud or the cluster before it succeeds. Why lists fail is logged separately.`,
      );
    });
    const cancelWait =
      patience === undefined
        ? undefined
        : clock.after(patience, () => {
            missing = this.awaited;
            controller.abort(new Error("the lists do not succeed"));
          });
    await this.#listAll(due, controller.signal);
    cancelReport();
    cancelWait?.();
    unlink();
    if (isReported && !controller.signal.aborted) log.info("All caches are current; the controllers run");
    return missing;
  }

  /** After it stepped down, a replica proves its caches before it is a candidate again. */
  async #recover(): Promise<void> {
    if (this.#isRecovering) return;
    const { log, stop } = this.#options;
    this.#isRecovering = true;
    this.#isRefusing = true;
    await this.#listAll([...this.#followed], stop);
    this.#isRecovering = false;
    if (!stop.aborted) log.info("All caches are current; this replica can become leader again");
  }

  async #listAll(due: readonly FollowedCache[], signal: AbortSignal): Promise<void> {
    for (let next = due; next.length > 0 && !signal.aborted; next = this.#stale()) {
      const since = this.#options.clock.monotonic();
      await Promise.all(next.map((cache) => this.#list(cache, since, signal)));
    }
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

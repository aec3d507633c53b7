// Runs the controllers only while their caches are known to be current: after a complete list that began when the Lease was already
// held, and until the API server has been silent for too long. A leader whose lists do not succeed for minutes steps down. A cache that
// only one controller needs, and that the API server refuses to list, holds back that controller alone.

import { type Milliseconds, milliseconds, minutes, seconds } from "../../core/brand.ts";
import { formatDuration } from "../../core/duration.ts";
import { maxSilence } from "../../kube/watch/watch-connection.ts";
import { type Clock, sleep } from "../../platform/clock.ts";
import { linkedController } from "../../runtime/abortable.ts";
import { runTogether, type Task } from "../../runtime/run-together.ts";
import type { WriteGate } from "../../runtime/write-gate.ts";
import type { Log } from "../../telemetry/log.ts";

export interface FollowedCache {
  /** The plural name, for messages. */
  readonly resource: string;
  /** Time since the API server last sent data for this cache; undefined before the first list is complete. */
  age(): Milliseconds | undefined;
  /** Resolves when a list that began at this moment (monotonic) or later is complete. */
  whenListed(since: number, signal: AbortSignal): Promise<void>;
  /** Whether the last request was refused because a permission is missing. */
  readonly isRefused?: boolean;
  /** Resolves when a list request is refused. */
  whenRefused?(signal: AbortSignal): Promise<void>;
}

export interface CurrentCachesOptions {
  readonly clock: Clock;
  readonly log: Pick<Log, "info" | "warn">;
  /** Aborted when the process stops. */
  readonly stop: AbortSignal;
}

/** A watch lists again after `maxSilence`, and that list takes a moment. */
const maxAge = milliseconds(maxSilence + seconds(10));
const reportAfter = seconds(10);
/** A leader without current caches for this long lets another replica lead. */
const stepDownAfter = minutes(5);

export class CurrentCaches {
  readonly #options: CurrentCachesOptions;
  /** The followed caches. The value names the only task that needs the cache; it is undefined if all tasks do. */
  readonly #followed = new Map<FollowedCache, string | undefined>();
  /** One entry for each session that waits for a list. */
  readonly #awaited = new Set<{ readonly resource: string }>();
  /** This replica stepped down, and its caches are still outdated. */
  #isRecovering = false;
  #isRefusing = false;

  constructor(options: CurrentCachesOptions) {
    this.#options = options;
  }

  /** Includes the cache until the returned function is called. `task` is set if only one task needs it. */
  follow(cache: FollowedCache, task?: string): () => void {
    this.#followed.set(cache, task);
    return () => this.#followed.delete(cache);
  }

  /** The resources whose lists a leader waits for. */
  get awaited(): readonly string[] {
    return namesOf(this.#awaited);
  }

  /** Rejects writes that were decided before a cache became outdated, even if only this task needs the cache. */
  gateFor(task?: string): WriteGate {
    return () => {
      const stale = this.#stale(task);
      return stale.length === 0 || { reason: `${silenceOf(stale)}, so its cache may be outdated.` };
    };
  }

  /** Whether this replica may acquire a Lease. A replica with outdated caches leaves the Lease to other replicas. */
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
   * Runs the tasks only while all caches are current, and restarts them when the caches are current again. If that takes
   * too long, calls `stepDown` with the reason and ends; without `stepDown`, waits indefinitely.
   */
  async run(tasks: readonly Task[], signal: AbortSignal, stepDown?: (why: string) => void): Promise<void> {
    let due: readonly FollowedCache[] = [...this.#followed.keys()];
    let patience = stepDownAfter;
    const since = this.#options.clock.monotonic();
    const held = tasks.map((task) => this.#withOwnCaches(task, since));
    do {
      const missing = await this.#makeCurrent(due, stepDown && patience, signal);
      if (stepDown !== undefined && missing.length > 0 && !signal.aborted) {
        void this.#recover();
        stepDown(
          `no complete list of ${missing.join(" and ")} succeeded within ${formatDuration(stepDownAfter)}, so another replica should lead. This replica does not become leader again before its lists succeed. Why lists fail is logged separately.`,
        );
        return;
      }
      if (signal.aborted) return;
      due = await this.#runUntilStale(held, signal);
      patience = milliseconds(stepDownAfter - maxAge);
    } while (due.length > 0 && !signal.aborted);
  }

  /** Returns the resources that still lack a current cache when the time is over or the signal is aborted. */
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

  /** After stepping down, a replica must have current caches before it is a candidate again. */
  async #recover(): Promise<void> {
    if (this.#isRecovering) return;
    const { log, stop } = this.#options;
    this.#isRecovering = true;
    this.#isRefusing = true;
    await this.#listAll([...this.#followed.keys()], stop);
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
    // Controllers close some of their caches when they stop.
    if (!this.#followed.has(cache)) return;
    const entry = { resource: cache.resource };
    this.#awaited.add(entry);
    const { controller, unlink } = linkedController(signal);
    const ends = [cache.whenListed(since, controller.signal)];
    // Only the task that needs this cache waits for it.
    if (this.#followed.get(cache) !== undefined && cache.whenRefused !== undefined)
      ends.push(cache.whenRefused(controller.signal));
    await Promise.race(ends.map((end) => end.catch(() => undefined)));
    controller.abort();
    unlink();
    this.#awaited.delete(entry);
  }

  #ownOf(task: string | undefined): readonly FollowedCache[] {
    if (task === undefined) return [];
    return [...this.#followed].flatMap(([cache, only]) => (only === task ? [cache] : []));
  }

  /** The task runs while the caches that it needs are current, even if the API server refuses to list them for a while. */
  #withOwnCaches(task: Task, began: number): Task {
    if (this.#ownOf(task.name).length === 0) return task;
    const run = async (signal: AbortSignal): Promise<void> => {
      for (let since = began; !signal.aborted; since = this.#options.clock.monotonic()) {
        await this.#whenOwnListed(task.name, since, signal);
        if (!signal.aborted && !(await this.#runUntilHeld(task, signal))) return;
      }
    };
    return { ...task, run };
  }

  /** Returns whether the task was stopped because the API server refuses to list an outdated cache. */
  async #runUntilHeld(task: Task, signal: AbortSignal): Promise<boolean> {
    const { controller, unlink } = linkedController(signal);
    const watching = this.#whenHeld(task.name, controller.signal).then((held) => {
      if (controller.signal.aborted) return false;
      this.#options.log.warn(`${silenceOf(held)}. The controller ${task.name} stops.`);
      controller.abort(new Error("a cache may be outdated"));
      return true;
    });
    const running = task.run(controller.signal).finally(() => {
      unlink();
      controller.abort();
    });
    const [isStopped] = await Promise.all([watching, running]);
    return isStopped;
  }

  async #whenOwnListed(task: string, since: number, signal: AbortSignal): Promise<void> {
    const own = this.#ownOf(task);
    const refused = own.filter(({ isRefused }) => isRefused === true);
    if (refused.length > 0)
      this.#options.log.warn(
        `The API server refuses to list ${namesOf(refused).join(" and ")}, because a permission is missing. ${whyHeld(task)}`,
      );
    await Promise.all(own.map((cache) => cache.whenListed(since, signal).catch(() => undefined)));
    if (refused.length > 0 && !signal.aborted)
      this.#options.log.info(`All caches are current; the controller ${task} runs`);
  }

  /** Whether the cache holds back only its own task. */
  #isHeld(cache: FollowedCache): boolean {
    return this.#followed.get(cache) !== undefined && cache.isRefused === true;
  }

  /** Returns the caches that became outdated; empty if the tasks ended for a different reason. */
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
    const running = runTogether(tasks, controller.signal).finally(() => {
      unlink();
      controller.abort();
    });
    const [stale] = await Promise.all([watching, running]);
    return stale;
  }

  #whenHeld(task: string, signal: AbortSignal): Promise<readonly FollowedCache[]> {
    return this.#whenAny(
      () => this.#ownOf(task),
      (cache) => this.#isHeld(cache),
      signal,
    );
  }

  /** The outdated caches that hold back all tasks, and those that hold back only this task. */
  #stale(task?: string): readonly FollowedCache[] {
    const stale = [...this.#followed.keys()].filter(isStale);
    return stale.filter((cache) => !this.#isHeld(cache) || this.#followed.get(cache) === task);
  }

  #whenStale(signal: AbortSignal): Promise<readonly FollowedCache[]> {
    return this.#whenAny(
      () => [...this.#followed.keys()],
      (cache) => !this.#isHeld(cache),
      signal,
    );
  }

  /** Resolves with the matching outdated caches as soon as there are any; resolves with none at the end. */
  async #whenAny(
    caches: () => readonly FollowedCache[],
    matches: (cache: FollowedCache) => boolean,
    signal: AbortSignal,
  ): Promise<readonly FollowedCache[]> {
    for (;;) {
      const found = caches().filter((cache) => isStale(cache) && matches(cache));
      if (found.length > 0 || signal.aborted) return found;
      const ages = caches().map((cache) => (isStale(cache) ? 0 : (cache.age() ?? 0)));
      const rest = milliseconds(maxAge - Math.max(0, ...ages) + 1);
      await sleep(this.#options.clock, rest, signal).catch(() => undefined);
    }
  }
}

const isStale = (cache: FollowedCache): boolean => (cache.age() ?? 0) > maxAge;

const whyHeld = (task: string): string =>
  `Nothing that ${task} manages is changed before a complete list succeeds; the other controllers run.`;

function namesOf(caches: Iterable<{ readonly resource: string }>): readonly string[] {
  return [...new Set([...caches].map(({ resource }) => resource))].toSorted();
}

function silenceOf(stale: readonly FollowedCache[]): string {
  const longest = Math.max(...stale.map((cache) => cache.age() ?? 0));
  return `The API server has sent nothing about ${namesOf(stale).join(" and ")} for ${Math.round(longest / 1000)}s`;
}

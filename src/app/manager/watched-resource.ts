// A watched resource: the objects of its watch, with Fairlead's own writes visible before the watch delivers them,
// and whether the watch is synced or stalled.

import { LatestObjects } from "../../controllers/latest-objects.ts";
import type { Milliseconds } from "../../core/brand.ts";
import { defined } from "../../core/defined.ts";
import type { KubeApi } from "../../kube/client/api.ts";
import type { KubeObject } from "../../kube/objects.ts";
import type { Resource } from "../../kube/resources.ts";
import { Reflector } from "../../kube/watch/reflector.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Random } from "../../platform/random.ts";
import type { Task } from "../../runtime/run-together.ts";
import type { FollowedCache } from "../leadership/current-caches.ts";
import { isStalled } from "../leadership/lease-watch.ts";
import type { ApiServerProblems } from "../logging/connection-problems.ts";
import type { CacheState } from "../report/manager-report.ts";

export interface WatchDeps {
  readonly api: KubeApi;
  readonly clock: Clock;
  readonly random: Random;
  readonly problems: Pick<ApiServerProblems, "failed" | "recovered">;
  readonly collectGarbage?: (() => void) | undefined;
}

/** The part that is independent of the object kind. */
export type AnyWatch = Pick<
  WatchedResource,
  | "name"
  | "run"
  | "resource"
  | "age"
  | "whenListed"
  | "isRefused"
  | "whenRefused"
  | "isSynced"
  | "cache"
  | "stalled"
>;

export class WatchedResource<T extends KubeObject = KubeObject> implements Task, FollowedCache {
  readonly name: string;
  readonly resource: string;
  readonly objects: LatestObjects<T>;
  readonly #reflector: Reflector<T>;

  constructor(
    resource: Resource<T>,
    { api, clock, random, problems, collectGarbage }: WatchDeps,
    fieldSelector?: string,
  ) {
    const { plural } = resource;
    this.resource = plural;
    this.name = `the watch of ${plural}`;
    const reflector = new Reflector<T>({
      api,
      resource,
      clock,
      random,
      collectGarbage,
      ...defined({ fieldSelector }),
      onProblem: (problem) => problems.failed(problem, plural),
      onRecovered: () => problems.recovered(plural),
    });
    this.#reflector = reflector;
    this.objects = new LatestObjects<T>(reflector.store);
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#reflector.run(signal);
  }

  get isSynced(): boolean {
    return this.#reflector.store.synced;
  }

  age(): Milliseconds | undefined {
    return this.#reflector.age();
  }

  whenListed(since: number, signal: AbortSignal): Promise<void> {
    return this.#reflector.whenListed(since, signal);
  }

  get isRefused(): boolean {
    return this.#reflector.isRefused;
  }

  whenRefused(signal: AbortSignal): Promise<void> {
    return this.#reflector.whenRefused(signal);
  }

  /** The state that /debug/state shows. */
  get cache(): CacheState {
    const { store } = this.#reflector;
    return {
      isSynced: store.synced,
      objects: store.size,
      heardSecondsAgo: Math.round((this.age() ?? 0) / 1000),
      problem: this.#reflector.problem?.message,
    };
  }

  /** Why the watch counts as stalled; undefined while it makes progress. */
  get stalled(): string | undefined {
    return isStalled(this.#reflector.idle()) ? `${this.name} is stalled` : undefined;
  }
}

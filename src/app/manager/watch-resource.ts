// A watch into a store, with our own writes laid over it until the watch has caught up; and what may be said of it: whether
// it is filled, and whether it stands still.

import { LatestObjects } from "../../controllers/latest-objects.ts";
import type { KubeApi } from "../../kube/client/api.ts";
import type { KubeObject } from "../../kube/objects.ts";
import type { Resource } from "../../kube/resources.ts";
import { Reflector } from "../../kube/watch/reflector.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Random } from "../../platform/random.ts";
import type { Task } from "../../runtime/run-together.ts";
import { isStill } from "../leadership/lease-watch.ts";
import type { ApiServerProblems } from "../reporting/api-server-problems.ts";

export interface Watched<T extends KubeObject = KubeObject> extends Task {
  readonly objects: LatestObjects<T>;
  readonly isSynced: () => boolean;
  readonly whenSynced: (signal: AbortSignal) => Promise<void>;
  /** In a few words, for people. */
  readonly cache: () => ReturnType<typeof cacheOf>;
  /** Undefined while it moves. */
  readonly stalled: () => string | undefined;
}

function cacheOf<T extends KubeObject>(reflector: Reflector<T>) {
  const { store, problem } = reflector;
  return {
    isSynced: store.synced,
    objects: store.size,
    heardSecondsAgo: Math.round((reflector.age() ?? 0) / 1000),
    problem: problem?.message,
  };
}

export function watched<T extends KubeObject>(
  resource: Resource<T>,
  { api, clock, random }: { readonly api: KubeApi; readonly clock: Clock; readonly random: Random },
  problems: ApiServerProblems,
): Watched<T> {
  const { plural } = resource;
  const reflector = new Reflector<T>({
    api,
    resource,
    clock,
    random,
    onProblem: (problem) => problems.failed(problem, plural),
    onRecovered: () => problems.recovered(plural),
  });
  const { store } = reflector;
  return {
    name: `the watch of ${plural}`,
    run: (signal) => reflector.run(signal),
    objects: new LatestObjects<T>({
      get: (key) => store.get(key),
      list: () => [...store.list()],
      get size() {
        return store.size;
      },
      subscribe: (listener) => store.subscribe(listener),
    }),
    isSynced: () => store.synced,
    whenSynced: (signal) => store.whenSynced(signal),
    cache: () => cacheOf(reflector),
    stalled: () => (isStill(reflector.idle()) ? `the watch of ${plural} stands still` : undefined),
  };
}

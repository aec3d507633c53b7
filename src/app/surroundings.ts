// What every controller of one manager shares: clients, clock, journal, events. Made once in `manager.ts`.

import type { Inventory } from "../cloud/inventory.ts";
import { type LatestObjects, latestObjects } from "../controllers/latest-objects.ts";
import type { NodeEvent } from "../controllers/node-ports.ts";
import type { KubeApi } from "../kube/api.ts";
import type { EventRecorder } from "../kube/events.ts";
import type { KubeObject, Node, ObjectReference } from "../kube/objects.ts";
import { createReflector, type Reflector } from "../kube/reflector.ts";
import type { Resource } from "../kube/resources.ts";
import type { Journal } from "../runtime/journal.ts";
import type { Clock } from "../seams/clock.ts";
import type { Random } from "../seams/random.ts";
import type { Log } from "../telemetry/log.ts";
import type { ConnectedCloud } from "./connect-cloud.ts";
import type { ReadFlags } from "./flags/read-flags.ts";
import type { ManagerMetrics } from "./metrics/manager-metrics.ts";
import type { ServerTroubles } from "./telling/server-troubles.ts";

export interface Surroundings {
  readonly api: KubeApi;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly journal: Journal;
  readonly metrics: ManagerMetrics;
  readonly events: EventRecorder;
  readonly settings: ReadFlags;
  readonly isObserving: boolean;
  readonly connected: ConnectedCloud;
  readonly inventory: Inventory;
  readonly nodes: LatestObjects<Node>;
}

export interface Watched<T> {
  readonly reflector: Reflector<T>;
  readonly objects: LatestObjects<T>;
}

/** A watch into a store, with our own writes laid over it until the watch has caught up. */
export const watched = <T extends KubeObject>(
  resource: Resource<T>,
  { api, clock, random }: Pick<Surroundings, "api" | "clock" | "random">,
  troubles: ServerTroubles,
): Watched<T> => {
  const reflector = createReflector<T>({
    api,
    resource,
    clock,
    random,
    onProblem: (problem) => troubles.failed(problem, resource.plural),
    onRecovered: () => troubles.recovered(resource.plural),
  });
  const { store } = reflector;
  const objects = latestObjects<T>({
    get: (key) => store.get(key),
    list: () => [...store.list()],
    get size() {
      return store.size;
    },
    subscribe: (listener) => store.subscribe(listener),
  });
  return { reflector, objects };
};

/** Says something about an object: in the log always, as an event unless we only observe. */
export const teller = (
  { log, events, isObserving }: Pick<Surroundings, "log" | "events" | "isObserving">,
  component: string,
  referTo: (object: KubeObject) => ObjectReference,
) => {
  return (about: KubeObject, { type, reason, message, quiet }: NodeEvent): void => {
    const object = referTo(about);
    const name = object.namespace === undefined ? object.name : `${object.namespace}/${object.name}`;
    // What would be done is told by the plan; "Ensuring …" would be a lie.
    if (isObserving && type === "Normal") return;
    const fields = { [object.kind.toLowerCase()]: name, reason };
    if (quiet === true) log.debug(2, message, fields);
    else log[type === "Warning" ? "warn" : "info"](message, fields);
    if (!isObserving) events.record({ component, object, type, reason, message });
  };
};

// All controllers of a manager, put together: what each is given, its queue, and the task that runs it. Which of them run is
// decided by flags and by the Leases.

import type { Node, Service } from "../../kube/objects.ts";
import type { Files } from "../../platform/files.ts";
import type { Instances } from "../../provider/instances.ts";
import type { Task } from "../../runtime/run-together.ts";
import type { AnyProvider } from "../connect-cloud.ts";
import type { ControllerName } from "../flags/controller-names.ts";
import { composeNodes } from "./compose-nodes.ts";
import { composeRoutes } from "./compose-routes.ts";
import { composeServices } from "./compose-services.ts";
import type { ControllerContext } from "./controller-context.ts";
import type { Watched } from "./watch-resource.ts";

export interface ControllerParts {
  readonly provider: AnyProvider;
  readonly instances: Instances;
  readonly contextOf: (name: ControllerName) => ControllerContext;
  readonly nodes: Watched<Node>;
  readonly services: Watched<Service>;
  readonly files: Files;
  /** Until everything has ended. */
  readonly signal: AbortSignal;
}

export interface ControllerTask extends Task {
  readonly name: ControllerName;
}

export function composeControllers(parts: ControllerParts) {
  const { provider, instances, contextOf, nodes, services, files, signal } = parts;
  const { node, lifecycle } = composeNodes(contextOf, instances);
  const service = composeServices({ ...contextOf("service"), files }, provider, services.objects, signal);
  const route = composeRoutes(contextOf("node-route"), nodes.isSynced);
  const task = (name: ControllerName, from: Pick<Task, "run"> | undefined): readonly ControllerTask[] =>
    from === undefined ? [] : [{ name, run: (stop) => from.run(stop) }];
  return {
    node,
    lifecycle,
    /** Undefined where the cloud has no balancers. */
    service,
    /** Undefined where no routes are made. */
    route,
    /** By upstream's names of them. */
    queues: {
      Nodes: node.queue,
      "node-lifecycle": lifecycle.queue,
      ...(service !== undefined && { service: service.queue }),
      ...(route !== undefined && { Routes: route.queue }),
    },
    tasks: [
      ...task("cloud-node", node),
      ...task("cloud-node-lifecycle", lifecycle),
      ...task("service", service),
      ...task("node-route", route),
    ],
  };
}

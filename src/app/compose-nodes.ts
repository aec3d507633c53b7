// The node and node-lifecycle controllers, put together.

import { createNodeController } from "../controllers/node/controller.ts";
import { createLifecycleController } from "../controllers/node-lifecycle/controller.ts";
import type { NodePorts } from "../controllers/node-deps.ts";
import { createNodeWrites } from "../controllers/node-writes.ts";
import type { KubeObject, Node, ObjectReference } from "../kube/objects.ts";
import type { Instances } from "../provider/instances.ts";
import type { ControllerName } from "./flags/controller-names.ts";
import type { Surroundings } from "./controller-context.ts";
import { objectTeller } from "./reporting/object-reporter.ts";

const nodeReference = ({ metadata: { name, uid } }: KubeObject): ObjectReference => ({
  apiVersion: "v1",
  kind: "Node",
  name,
  uid,
});

/** Whether a Node is this manager's: without a selector every one is. */
export const isSelectedBy =
  (flags: Surroundings["settings"]["flags"]) =>
  ({ metadata }: Node): boolean =>
    [...(flags["node-selector"] ?? [])].every(([key, value]) => metadata.labels?.[key] === value);

/** What every controller of Nodes is given; `component` names it on events. */
export const nodePorts = (around: Surroundings, component: string): NodePorts => {
  const { api, journal, clock, random, inventory, nodes, settings, log } = around;
  const { flags } = settings;
  return {
    nodes,
    inventory,
    clock,
    random,
    concurrency: flags["concurrent-node-syncs"],
    writes: createNodeWrites({
      api,
      journal,
      clock,
      mode: flags.mode,
      remember: (node) => nodes.remember(node),
    }),
    isSelected: isSelectedBy(flags),
    tell: objectTeller(around, component, nodeReference),
    note: (message, fields) => log.info(message, fields),
  };
};

export const composeNodes = (aroundOf: (task: ControllerName) => Surroundings, instances: Instances) => {
  const around = aroundOf("cloud-node");
  const lifecycle = aroundOf("cloud-node-lifecycle");
  return {
    node: createNodeController({
      ...nodePorts(around, "cloud-node-controller"),
      settings: around.settings.nodes,
      ownPrefixes: instances.labelPrefixes ?? [],
      onInitialized: (_, ageMs) => around.metrics.initialized(ageMs),
    }),
    lifecycle: createLifecycleController({
      ...nodePorts(lifecycle, "cloud-node-lifecycle-controller"),
      settings: lifecycle.settings.lifecycle,
    }),
  };
};

// The node and node-lifecycle controllers, put together.

import { NodeController } from "../../controllers/node/controller.ts";
import type { NodeDeps } from "../../controllers/node-deps.ts";
import { LifecycleController } from "../../controllers/node-lifecycle/controller.ts";
import { createNodeWrites } from "../../controllers/writes/node-writes.ts";
import type { KubeObject, Node, ObjectReference } from "../../kube/objects.ts";
import type { Instances } from "../../provider/instances.ts";
import type { ControllerName } from "../flags/controller-names.ts";
import { objectReporter } from "../reporting/object-reporter.ts";
import type { ControllerContext } from "./controller-context.ts";

function nodeReference({ metadata: { name, uid } }: KubeObject): ObjectReference {
  return {
    apiVersion: "v1",
    kind: "Node",
    name,
    uid,
  };
}

/** Whether a Node is this manager's: without a selector every one is. */
export function isSelectedBy(flags: ControllerContext["settings"]["flags"]) {
  return ({ metadata }: Node): boolean =>
    [...(flags["node-selector"] ?? [])].every(([key, value]) => metadata.labels?.[key] === value);
}

/** What every controller of Nodes is given; `component` names it on events. */
export function nodePorts(context: ControllerContext, component: string): NodeDeps {
  const { api, journal, clock, random, inventory, nodes, settings, log } = context;
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
    report: objectReporter(context, component, nodeReference),
    note: (message, fields) => log.info(message, fields),
  };
}

export function composeNodes(contextOf: (task: ControllerName) => ControllerContext, instances: Instances) {
  const context = contextOf("cloud-node");
  const lifecycle = contextOf("cloud-node-lifecycle");
  return {
    node: new NodeController({
      ...nodePorts(context, "cloud-node-controller"),
      settings: context.settings.nodes,
      ownPrefixes: instances.labelPrefixes ?? [],
      onInitialized: (_, ageMs) => context.metrics.initialized(ageMs),
    }),
    lifecycle: new LifecycleController({
      ...nodePorts(lifecycle, "cloud-node-lifecycle-controller"),
      settings: lifecycle.settings.lifecycle,
    }),
  };
}

// The steps of the demo, in their order: Nodes join, Services request load balancers, one machine is resized, one is shut down,
// one is deleted.

import type { JsonObject } from "../../src/testing/apiserver/objects/json.ts";
import { resourceNamed } from "../../src/testing/apiserver/objects/resource-table.ts";
import type { Sandbox } from "./sandbox.ts";

const shutdownTaint = "node.cloudprovider.kubernetes.io/shutdown";
const uninitializedTaint = "node.cloudprovider.kubernetes.io/uninitialized";
const typeLabel = "node.kubernetes.io/instance-type";
const resizedNode = "node-1";
const stoppedNode = "node-2";
const deletedMachine = "node-3";
const serviceNames = ["shop", "blog"];

const services = resourceNamed("services");

export interface DemoStep {
  readonly title: string;
  start(): void;
  /** What the step is waiting for; undefined once it is done. */
  waitingFor(): string | undefined;
  /** The result of the step, shown once the step is done. */
  result?(): string | undefined;
}

function loadBalancerService(name: string): JsonObject {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name, namespace: "default" },
    spec: {
      type: "LoadBalancer",
      selector: { app: name },
      ports: [{ name: "http", port: 80, protocol: "TCP" }],
    },
  };
}

function taintsOf({ manager }: Sandbox, node: string): readonly string[] {
  return manager.nodes.get(node)?.spec.taints?.map(({ key }) => key) ?? [];
}

function isReady({ manager }: Sandbox, node: string): boolean {
  const conditions = manager.nodes.get(node)?.status.conditions ?? [];
  return conditions.some(({ type, status }) => type === "Ready" && status === "True");
}

function nodesJoin(sandbox: Sandbox, count: number): DemoStep {
  return {
    title: `${count} ${count === 1 ? "Node joins" : "Nodes join"} the cluster`,
    start: () => undefined,
    waitingFor: () => {
      const names = sandbox.cloud.machines().map(({ name }) => name);
      const waiting = names.filter(
        (name) => taintsOf(sandbox, name).includes(uninitializedTaint) || !isReady(sandbox, name),
      );
      if (waiting.length === 0) return undefined;
      return waiting.length === 1
        ? `${waiting[0]} to become schedulable`
        : `${waiting.length} Nodes to become schedulable, such as ${waiting[0]}`;
    },
  };
}

function servicesRequestLoadBalancers({ server, manager }: Sandbox): DemoStep {
  return {
    title: "The Services shop and blog request a load balancer",
    start: () => {
      for (const name of serviceNames) server.objects.create(services, "default", loadBalancerService(name));
    },
    waitingFor: () => {
      const withoutAddress = serviceNames.find((name) => {
        const ingress = manager.services.get(`default/${name}`)?.status.loadBalancer?.ingress ?? [];
        return ingress.length === 0;
      });
      return withoutAddress && `an address for the Service ${withoutAddress}`;
    },
  };
}

function machineIsResized({ cloud, manager }: Sandbox): DemoStep {
  const { largerType } = cloud;
  return {
    title: `The machine of ${resizedNode} is resized to ${largerType}`,
    start: () => cloud.resize(resizedNode, largerType),
    waitingFor: () =>
      manager.nodes.get(resizedNode)?.metadata.labels?.[typeLabel] === largerType
        ? undefined
        : `the next cloud listing, then the label ${typeLabel} on ${resizedNode}`,
  };
}

function machineShutsDown(sandbox: Sandbox): DemoStep {
  return {
    title: `The machine of ${stoppedNode} is shut down`,
    start: () => sandbox.cloud.stop(stoppedNode),
    waitingFor: () =>
      taintsOf(sandbox, stoppedNode).includes(shutdownTaint)
        ? undefined
        : `the shutdown taint on ${stoppedNode}`,
  };
}

function machineIsDeleted({ cloud, manager }: Sandbox): DemoStep {
  return {
    title: `The machine of ${deletedMachine} is deleted in the cloud`,
    start: () => cloud.remove(deletedMachine),
    waitingFor: () =>
      manager.nodes.get(deletedMachine) === undefined
        ? undefined
        : `proof that the machine is gone, then the deletion of ${deletedMachine}`,
  };
}

function serviceIsDeleted({ server, cloud, manager }: Sandbox): DemoStep {
  let owner: string | undefined;
  return {
    title: "The Service blog is deleted",
    start: () => {
      owner = manager.services.get("default/blog")?.metadata.uid;
      server.objects.delete(services, "default", "blog");
    },
    waitingFor: () =>
      owner !== undefined && cloud.hasLoadBalancerOf?.(owner, "default/blog") === true
        ? "the deletion of its load balancer"
        : undefined,
  };
}

/** With fewer than 3 Nodes, no machine is resized, shut down or deleted. A cloud without load balancers has no steps about Services. */
export function demoSteps(sandbox: Sandbox, nodeCount: number): readonly DemoStep[] {
  const machineSteps = [machineIsResized(sandbox), machineShutsDown(sandbox), machineIsDeleted(sandbox)];
  const hasBalancers = sandbox.cloud.hasLoadBalancerOf !== undefined;
  return [
    nodesJoin(sandbox, nodeCount),
    ...(hasBalancers ? [servicesRequestLoadBalancers(sandbox)] : []),
    ...(nodeCount >= 3 ? machineSteps : []),
    ...(hasBalancers ? [serviceIsDeleted(sandbox)] : []),
  ];
}

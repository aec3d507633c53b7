// What must be so once a storm is over and time has passed: every Node as its machine is, nothing left over, nothing
// written any more, and a number of cloud calls that follows from pages alone.

import { hasTaint, isReady, isUninitialized } from "../../src/controllers/node-facts.ts";
import { cloudCondition, labelPairs, shutdownTaint } from "../../src/controllers/well-known.ts";
import type { Node } from "../../src/kube/objects.ts";
import { unsettledRoutes, unsettledServices } from "./settled-cloud.ts";
import type { World } from "./world.ts";

const isOurs = ({ spec }: Node): boolean => /^(fake:\/\/\d+)?$/.test(spec.providerID ?? "");

const machineOf = (world: World, node: Node) => {
  const { providerID } = node.spec;
  const machines = world.cloud.machines.list();
  return (providerID ?? "") === ""
    ? machines.find(({ name }) => name === node.metadata.name)
    : machines.find(({ id }) => providerID === `fake://${id}`);
};

/** Nodes whose machine is gone and which nobody keeps alive. */
export const leftOver = (world: World): readonly string[] =>
  world.nodes().flatMap((node) => {
    const isDue = isOurs(node) && machineOf(world, node) === undefined && !isReady(node);
    return isDue ? [node.metadata.name] : [];
  });

/** Whether the mass limit may hold them: Ready Nodes count with them, kubelets that live on under a predecessor's id. */
export const mayBeHeld = (world: World): boolean => {
  const ours = world.nodes().filter(isOurs);
  const missing = ours.filter((node) => machineOf(world, node) === undefined).length;
  return missing > Math.max(2, Math.floor(ours.length * 0.2));
};

/** Everything that is not as it should be; empty when all has converged. */
export const unsettled = (world: World): readonly string[] => {
  const problems: string[] = [];
  for (const node of world.nodes()) {
    const machine = machineOf(world, node);
    if (!isOurs(node) || machine === undefined) continue;
    const { name, labels } = node.metadata;
    const isOff = hasTaint(node, shutdownTaint, "NoSchedule");
    if (isUninitialized(node)) problems.push(`${name} is not initialised`);
    if (machine.status === "running" && !isReady(node)) problems.push(`${name} is not Ready`);
    if (isOff && machine.status === "running") problems.push(`${name} has the shutdown taint`);
    if (!isOff && machine.status === "stopped") problems.push(`${name} has no shutdown taint`);
    for (const { type, message } of node.status.conditions ?? []) {
      if (type === cloudCondition) problems.push(`${name} still says ${message}`);
    }
    if (labels?.[labelPairs.type.current] !== machine.type)
      problems.push(`${name} has a wrong instance type`);
    if (labels?.["fake.example/type"] !== machine.type)
      problems.push(`${name} has a wrong fake.example/type`);
    if (labels?.[labelPairs.zone.current] === undefined) problems.push(`${name} has no zone`);
    const addresses = (node.status.addresses ?? []).map(({ address }) => address);
    if (!addresses.includes(machine.private_ip)) problems.push(`${name} has wrong addresses`);
  }
  return [...problems, ...unsettledServices(world), ...unsettledRoutes(world)];
};

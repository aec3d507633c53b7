// Finds deviations from the expected state once the disruptions are over: every Node must match its machine, and no
// Node may be left without one.

import { hasTaint, isReady, isUninitialized, outOfServiceOf } from "../../src/controllers/node-facts.ts";
import { cloudCondition, labelPairs, shutdownTaint } from "../../src/controllers/well-known.ts";
import type { Node } from "../../src/kube/objects.ts";
import { routeDeviations, serviceDeviations } from "./cloud-deviations.ts";
import type { World } from "./world.ts";

const scheme = "fake://";
const isManaged = ({ spec }: Node): boolean => /^(fake:\/\/\d+)?$/.test(spec.providerID ?? "");

const machineOf = (world: World, { spec: { providerID = "" }, metadata }: Node) => {
  if (providerID === "") return world.machineNamed(metadata.name);
  return providerID.startsWith(scheme)
    ? world.cloud.machines.get(providerID.slice(scheme.length))
    : undefined;
};

/** Nodes without a machine that are not Ready, so Fairlead should have deleted them. */
export const undeletedNodes = (world: World): readonly string[] =>
  world.nodes().flatMap((node) => {
    const shouldBeDeleted = isManaged(node) && machineOf(world, node) === undefined && !isReady(node);
    return shouldBeDeleted ? [node.metadata.name] : [];
  });

/**
 * Whether the mass limit may prevent their deletion, or that of `more` Nodes as well. Ready Nodes count too: their
 * kubelets still use the provider id of a predecessor. A hold keeps its limit when Nodes join.
 */
export const mayExceedMassLimit = (world: World, more = 0): boolean =>
  countMissing(world) + more > Math.max(2, Math.floor(world.fewestManaged * 0.2));

/**
 * Whether a Node proves the account to the leader: a Node whose machine was found before the process of the leader
 * began. Without such a Node, every deletion may wait for an operator.
 */
export const hasWitness = (world: World): boolean => {
  const since = world.leader?.startedAt ?? 0;
  return world.nodes().some((node) => {
    const isOlder = (world.history.identifiedAt.get(node.metadata.uid) ?? since) < since;
    return isManaged(node) && isOlder && machineOf(world, node) !== undefined;
  });
};

export const countManaged = (world: World): number => world.nodes().filter(isManaged).length;

/** The number of managed Nodes without a machine. */
export const countMissing = (world: World): number =>
  world.nodes().filter((node) => isManaged(node) && machineOf(world, node) === undefined).length;

/** All deviations of Nodes, Services and routes; empty once everything has converged. */
export const findDeviations = (world: World): readonly string[] => {
  const problems: string[] = [];
  for (const node of world.nodes()) {
    const machine = machineOf(world, node);
    if (!isManaged(node) || machine === undefined) continue;
    const { name, labels } = node.metadata;
    const isOff = hasTaint(node, shutdownTaint, "NoSchedule");
    if (isUninitialized(node)) problems.push(`${name} is not initialized`);
    if (machine.status === "running" && !isReady(node)) problems.push(`${name} is not Ready`);
    if (isOff && machine.status === "running") problems.push(`${name} has the shutdown taint`);
    if (!isOff && machine.status === "stopped") problems.push(`${name} has no shutdown taint`);
    if (outOfServiceOf(node) !== undefined && machine.status === "running")
      problems.push(`${name} has the taint out-of-service`);
    for (const { type, message } of node.status.conditions ?? []) {
      if (type === cloudCondition) problems.push(`${name} still has the condition: ${message}`);
    }
    if (labels?.[labelPairs.type.current] !== machine.type)
      problems.push(`${name} has a wrong instance type`);
    if (labels?.["fake.example/type"] !== machine.type)
      problems.push(`${name} has a wrong fake.example/type`);
    if (labels?.[labelPairs.zone.current] === undefined) problems.push(`${name} has no zone`);
    const addresses = (node.status.addresses ?? []).map(({ address }) => address);
    if (!addresses.includes(machine.private_ip)) problems.push(`${name} has wrong addresses`);
  }
  problems.push(...(world.volumes?.invariants.deviations() ?? []));
  problems.push(...(world.volumes?.snapshots.deviations() ?? []));
  return [...problems, ...serviceDeviations(world), ...routeDeviations(world)];
};

// Finds deviations from the expected load balancers and routes once the disruptions are over: missing, duplicate,
// incorrect or leftover objects in the cloud, and incorrect status.

import { hasFinalizer, wantsLoadBalancer } from "../../src/controllers/service/predicates.ts";
import { servesWithoutClass } from "../../src/controllers/service/served-classes.ts";
import { isEligible } from "../../src/controllers/service/targets/candidate-targets.ts";
import { cidr, cidrContains } from "../../src/core/cidr.ts";
import type { Node, Service } from "../../src/kube/objects.ts";
import { isMarked } from "./cloud-invariants.ts";
import { clusterCIDR } from "./pod-ranges.ts";
import type { World } from "./world.ts";

const machineIDOf = ({ spec }: Node): string => /^fake:\/\/(\d+)$/.exec(spec.providerID ?? "")?.[1] ?? "";

export const isManagedRoute = (labels: Readonly<Record<string, string>>, range: string): boolean =>
  labels["cluster"] === "kubernetes" && cidrContains(cidr(clusterCIDR), cidr(range));

export const serviceDeviations = (world: World): readonly string[] => {
  const { users, cloud } = world;
  const present = cloud.balancers.list().filter(({ labels }) => isMarked(labels));
  const targets = world
    .nodes()
    .filter((node) => isEligible(node))
    .map(machineIDOf)
    // The machine may not exist: a kubelet may still use the provider id of its predecessor.
    .filter((id) => id !== "")
    .map((id) => ({ id, exists: cloud.machines.list().some((machine) => machine.id === id) }));
  const existing = new Set(users.services().map(({ metadata }) => metadata.uid));
  const problems = present.flatMap(({ id, labels }) => {
    const uid = labels["owner-uid"] ?? "";
    return existing.has(uid) || users.finalizersRemoved.has(uid)
      ? []
      : [`balancer ${id} of ${uid} is left over`];
  });
  for (const service of users.services()) {
    const own = present.filter(({ labels }) => labels["owner-uid"] === service.metadata.uid);
    problems.push(...problemsOf(service, own, targets).map((text) => `${service.metadata.name} ${text}`));
  }
  return problems;
};

const problemsOf = (
  service: Service,
  own: ReturnType<World["cloud"]["balancers"]["list"]>,
  targets: readonly { readonly id: string; readonly exists: boolean }[],
): readonly string[] => {
  const { metadata, spec, status } = service;
  const isServed = wantsLoadBalancer(service, servesWithoutClass);
  const ingress = (status.loadBalancer?.ingress ?? []).map(({ ip }) => ip).join();
  const problems: string[] = [];
  if (metadata.deletionTimestamp !== undefined) problems.push("is still being deleted");
  if (hasFinalizer(service, servesWithoutClass) !== isServed)
    problems.push(isServed ? "has no finalizer" : "keeps its finalizer");
  if (own.length !== (isServed ? 1 : 0)) problems.push(`has ${own.length} balancers`);
  for (const { reason, message } of status.conditions ?? []) {
    const isTrue = reason === "UnAvailableLoadBalancer" && targets.length === 0;
    if (!isTrue) problems.push(`still has the condition ${reason}: ${message}`);
  }
  const [balancer] = own;
  const isOthers = spec.loadBalancerClass !== undefined;
  if (!isServed && !isOthers && ingress !== "") problems.push(`still has the address ${ingress}`);
  if (!isServed || balancer === undefined) return problems;
  const ports = (spec.ports ?? []).map(({ port, nodePort }) => `${port} ${nodePort}`).join();
  const actual = balancer.listeners.map(({ port, target_port }) => `${port} ${target_port}`).join();
  if (ingress !== balancer.ip) problems.push(`has the address ${ingress} in its status, not ${balancer.ip}`);
  if (ports !== actual) problems.push(`has listeners ${actual}, not ${ports}`);
  if (balancer.algorithm !== "round-robin") problems.push(`has the algorithm ${balancer.algorithm}`);
  // A target whose machine does not exist stays, but is not added.
  const has = new Set(balancer.targets);
  const wanted = targets.filter(({ id, exists }) => exists || has.has(id)).map(({ id }) => id);
  const [actualTargets, wantedTargets] = [balancer.targets, wanted].map((ids) => ids.toSorted().join());
  if (actualTargets !== wantedTargets) problems.push(`has targets ${actualTargets}, not ${wantedTargets}`);
  return problems;
};

export const routeDeviations = (world: World): readonly string[] => {
  const { cloud } = world;
  const present = cloud.routes
    .list()
    .filter(({ labels, destination }) => isManagedRoute(labels, destination));
  const ranges = new Map(world.nodes().map((node) => [node.spec.podCIDR ?? "", node]));
  // Routes to a Node whose machine is unknown are never changed, and such a Node stays if it is protected or
  // Ready: it may have vanished while its machine was removed, and returned without a kubelet.
  const unknown = new Set(
    world
      .nodes()
      .map(machineIDOf)
      .filter((id) => !cloud.machines.has(id)),
  );
  const problems = present.flatMap(({ destination, machine }) =>
    ranges.has(destination) || unknown.has(machine)
      ? []
      : [`the route ${destination} to ${machine} is left over`],
  );
  for (const [range, node] of ranges) {
    const id = machineIDOf(node);
    if (range === "" || !cloud.machines.has(id)) continue;
    const { name } = node.metadata;
    const routed = present.flatMap(({ destination, machine }) => (destination === range ? [machine] : []));
    // A route that was changed by hand to this destination leaves no room for the route of this Node.
    if (routed.length > 0 && routed.every((machine) => unknown.has(machine))) continue;
    if (routed.join() !== id) problems.push(`${name} has routes to ${routed.join()}, not ${id}`);
    const network = node.status.conditions?.find(({ type }) => type === "NetworkUnavailable");
    if (network?.status !== "False") problems.push(`${name} has NetworkUnavailable=${network?.status}`);
  }
  return problems;
};

// What must be so of Services and routes once a storm is over and time has passed: the cloud has what they ask for, once
// and complete, nothing is left of those that went, and objects say how it is.

import { hasFinalizer, isLoadBalancer } from "../../src/controllers/service/predicates.ts";
import { isEligible } from "../../src/controllers/service/targets/eligible-nodes.ts";
import { cidr, cidrContains } from "../../src/core/cidr.ts";
import type { Node, Service } from "../../src/kube/objects.ts";
import { clusterCIDR } from "./pod-ranges.ts";
import type { World } from "./world.ts";

const machineIDOf = ({ spec }: Node): string => /^fake:\/\/(\d+)$/.exec(spec.providerID ?? "")?.[1] ?? "";

export const isOurRoute = (labels: Readonly<Record<string, string>>, range: string): boolean =>
  labels["cluster"] === "kubernetes" && cidrContains(cidr(clusterCIDR), cidr(range));

export const unsettledServices = (world: World): readonly string[] => {
  const { people, cloud } = world;
  const present = cloud.balancers.list().filter(({ labels }) => labels["managed-by"] === "fairlead");
  const targets = world
    .nodes()
    .filter((node) => isEligible(node))
    .map(machineIDOf)
    // Whether that machine still exists is another question: a kubelet may live on under its predecessor's id.
    .filter((id) => id !== "")
    .toSorted()
    .join();
  const living = new Set(people.services().map(({ metadata }) => metadata.uid));
  const problems = present.flatMap(({ id, labels }) => {
    const uid = labels["owner-uid"] ?? "";
    return living.has(uid) || people.stripped.has(uid) ? [] : [`balancer ${id} of ${uid} is left over`];
  });
  for (const service of people.services()) {
    const mine = present.filter(({ labels }) => labels["owner-uid"] === service.metadata.uid);
    problems.push(...problemsOf(service, mine, targets).map((text) => `${service.metadata.name} ${text}`));
  }
  return problems;
};

const problemsOf = (
  service: Service,
  mine: ReturnType<World["cloud"]["balancers"]["list"]>,
  targets: string,
): readonly string[] => {
  const { metadata, spec, status } = service;
  const isServed = isLoadBalancer(service);
  const ingress = (status.loadBalancer?.ingress ?? []).map(({ ip }) => ip).join();
  const problems: string[] = [];
  if (metadata.deletionTimestamp !== undefined) problems.push("is still going");
  if (hasFinalizer(service) !== isServed)
    problems.push(isServed ? "has no finalizer" : "keeps its finalizer");
  if (mine.length !== (isServed ? 1 : 0)) problems.push(`has ${mine.length} balancers`);
  for (const { reason, message } of status.conditions ?? []) {
    const isTrue = reason === "UnAvailableLoadBalancer" && targets === "";
    if (!isTrue) problems.push(`still says ${reason}: ${message}`);
  }
  const [balancer] = mine;
  if (!isServed && ingress !== "") problems.push(`still has ${ingress}`);
  if (!isServed || balancer === undefined) return problems;
  const ports = (spec.ports ?? []).map(({ port, nodePort }) => `${port} ${nodePort}`).join();
  const there = balancer.listeners.map(({ port, target_port }) => `${port} ${target_port}`).join();
  if (ingress !== balancer.ip) problems.push(`has ${ingress} in its status, not ${balancer.ip}`);
  if (ports !== there) problems.push(`has listeners ${there}, not ${ports}`);
  if (balancer.algorithm !== "round-robin") problems.push(`has the algorithm ${balancer.algorithm}`);
  const leadsTo = balancer.targets.toSorted().join();
  if (leadsTo !== targets) problems.push(`leads to ${leadsTo}, not ${targets}`);
  return problems;
};

export const unsettledRoutes = (world: World): readonly string[] => {
  const { cloud } = world;
  const present = cloud.routes.list().filter(({ labels, destination }) => isOurRoute(labels, destination));
  const ranges = new Map(world.nodes().map((node) => [node.spec.podCIDR ?? "", node]));
  const problems = present.flatMap(({ destination, machine }) =>
    ranges.has(destination) ? [] : [`the route ${destination} to ${machine} is left over`],
  );
  for (const [range, node] of ranges) {
    const id = machineIDOf(node);
    if (range === "" || !cloud.machines.has(id)) continue;
    const { name } = node.metadata;
    const leadsTo = present.flatMap(({ destination, machine }) => (destination === range ? [machine] : []));
    if (leadsTo.join() !== id) problems.push(`${name} has routes to ${leadsTo.join()}, not ${id}`);
    const network = node.status.conditions?.find(({ type }) => type === "NetworkUnavailable");
    if (network?.status !== "False") problems.push(`${name} says NetworkUnavailable=${network?.status}`);
  }
  return problems;
};

// Plans the external services to which load balancers forward: one for each Node, or one with a health check for all. Pure.

import {
  type BalancerTarget,
  changedTargets,
  ipFamily,
  isSameIp,
  type NodesByTarget,
  type Plan,
  type RefusedTarget,
  seconds,
  waitFor,
} from "#ccm";
import {
  balancerName,
  clusterOf,
  type Desired,
  markedOwner,
  metadataOf,
  type Observed,
  ownersByName,
  type RancherStep,
  type ServiceInUse,
} from "./balancer.ts";
import { type ApiExternalService, linkFor, ruledIDs } from "./resources.ts";

/** A desired external service. */
interface Backend {
  readonly name: string;
  readonly nodes: readonly string[];
  readonly ips: readonly string[];
  readonly healthCheck?: object;
}

/** The address at which the load balancer reaches a Node: the network of the load balancer has no IPv6. */
export const addressOf = ({ internalIPs, addresses }: BalancerTarget): string | undefined =>
  [...internalIPs, ...addresses].find((ip) => ipFamily(ip) === "IPv4");

function nodeServiceName(node: string): string {
  const name = node
    .replaceAll(/[^a-zA-Z0-9-]+/g, "-")
    .replaceAll(/^-+|-+$/g, "")
    .replaceAll(/-{2,}/g, "-");
  // The API rejects a dash at the end.
  return name.slice(0, 63).replace(/-+$/, "");
}

function backendsOf(desired: Desired): readonly Backend[] {
  const targets = desired.targets.flatMap((target) => {
    const ip = target.machine === undefined ? undefined : addressOf(target);
    return ip === undefined ? [] : [{ node: target.node, ip }];
  });
  const port = desired.healthCheckNodePort;
  if (port === undefined)
    return targets.map(({ node, ip }) => ({ name: nodeServiceName(node), nodes: [node], ips: [ip] }));
  if (targets.length === 0) return [];
  return [
    {
      // A health check cannot be changed, so its port is part of the name.
      name: `${balancerName(desired.defaultName)}-local-${port}`,
      nodes: targets.map(({ node }) => node),
      ips: targets.map(({ ip }) => ip).toSorted(),
      healthCheck: {
        port,
        requestLine: 'GET "/healthz" "HTTP/1.0"',
        interval: 2000,
        responseTimeout: 2000,
        healthyThreshold: 2,
        unhealthyThreshold: 3,
      },
    },
  ];
}

/** Removals usually take a few seconds. */
const removalTime = seconds(5);

/** The result for one external service. */
interface Outcome {
  /** Set if load balancers can forward to the external service. */
  readonly id?: string;
  readonly step?: RancherStep;
  readonly waitingFor?: string;
  /** Why the external service cannot serve its Nodes until a user corrects the cause. */
  readonly refused?: string;
}

/** `ids` are the external services that load balancers can forward to. */
export function planBackends(
  desired: Desired,
  observed: Observed,
  cluster: string,
): Plan<RancherStep> & { readonly ids: readonly string[]; readonly refused: readonly RefusedTarget[] } {
  const planned = new Set<string>();
  const all = backendsOf(desired).map((backend) => {
    const key = backend.name.toLowerCase();
    const isTaken = key === "" || planned.has(key);
    planned.add(key);
    const refused = `Another Node has the same name in Rancher: ${JSON.stringify(backend.name)}. Rename one of the Nodes.`;
    const outcome: Outcome = isTaken ? { refused } : planBackend(backend, desired, observed, cluster);
    return { nodes: backend.nodes, ...outcome };
  });
  const steps = all.flatMap(({ step }) => step ?? []);
  const ids = all.flatMap(({ id }) => id ?? []);
  const [waitingFor] = all.flatMap((one) => one.waitingFor ?? []);
  // The other Nodes must not wait for a removal that may hang.
  const hasOthers = ids.length > 0 || steps.length > 0;
  const refused = all.flatMap(({ nodes, id, step, waitingFor, refused: text }): readonly RefusedTarget[] => {
    if (text !== undefined) return nodes.map((node) => ({ node, text }));
    if (id !== undefined || step !== undefined || !hasOthers) return [];
    const later = { text: `Waiting for ${waitingFor} in Rancher.`, retryAfter: removalTime };
    return nodes.map((node) => ({ node, ...later }));
  });
  return { ...(waitingFor === undefined ? {} : waitFor(waitingFor)), steps, ids, refused };
}

function planBackend(
  { name, ips, nodes, healthCheck }: Backend,
  desired: Desired,
  { services, balancer }: Observed,
  cluster: string,
): Outcome {
  const known = services.get(name.toLowerCase());
  if (known === undefined) {
    const common = { name, stackId: balancer.stackId, externalIpAddresses: ips, startOnCreate: true };
    const body = { ...common, healthCheck, metadata: metadataOf(cluster, desired.owner.uid) };
    const creation = { do: "create external service", kind: "create service" } as const;
    return { step: { ...creation, on: name, body, nodes, targetsPart: "all" } };
  }
  const { service } = known;
  const { id, metadata } = service;
  const why = service.transitioningMessage ? ` (${service.transitioningMessage})` : "";
  if (service.state === "removing") return { waitingFor: `external service ${name} to be removed${why}` };
  const waitingFor = `external service ${service.name}, which is ${service.state}${why}`;
  if (hasAddresses(service, ips)) {
    if (service.state === "active" || service.state === "updating-active") return { id };
    const canStart = service.state === "inactive" && service.transitioning !== "yes";
    const link = canStart ? linkFor(service, "activate") : undefined;
    if (link === undefined) return { id, waitingFor };
    const activation = { do: "activate external service", kind: "act", link } as const;
    const isRetry = service.transitioning === "error";
    return { id, step: { ...activation, on: service.name, isRetry, targetsPart: "all" } };
  }
  if (isOthers(known, balancer.id, cluster)) {
    const addresses = addressesIn(service).join(", ");
    return {
      refused: `The external service ${name} in Rancher has a different address (${addresses}) and may belong to another cluster or a user. Remove it or rename the Node, or give each cluster its own load-balancers-stack.`,
    };
  }
  const link = linkFor(service, "update");
  if (link === undefined) return { id, waitingFor };
  const marked = metadataOf(cluster, markedOwner(metadata) ?? desired.owner.uid, metadata);
  const body = { externalIpAddresses: ips, metadata: marked };
  const change = { do: "change external service", kind: "change", link, body } as const;
  const targets = changedTargets(nodesAt(desired, ips), addressesIn(service));
  return { id, step: { ...change, on: name, targets, targetsPart: "all" } };
}

const addressesIn = ({ hostname, externalIpAddresses }: ApiExternalService): readonly string[] =>
  [hostname || (externalIpAddresses ?? [])].flat();

function nodesAt({ targets }: Desired, ips: readonly string[]): NodesByTarget {
  const nodes = new Map<string | undefined, string>(targets.map((one) => [addressOf(one), one.node]));
  return Object.fromEntries(ips.map((ip) => [ip, nodes.get(ip) ?? ip]));
}

/** The changes after which exactly these external services have rules. */
export function targetsAfter(desired: Desired, { services, balancer }: Observed, ids: ReadonlySet<string>) {
  const addressesOf = (some: ReadonlySet<string>) =>
    [...services.values()].flatMap(({ service }) => (some.has(service.id) ? addressesIn(service) : []));
  return changedTargets(nodesAt(desired, addressesOf(ids)), addressesOf(ruledIDs(balancer.lbConfig)));
}

function hasAddresses(
  { hostname, externalIpAddresses }: ApiExternalService,
  ips: readonly string[],
): boolean {
  const observed = (externalIpAddresses ?? []).toSorted();
  const isSame = (ip: string, index: number) => isSameIp(ip, observed[index] ?? "");
  return !hostname && observed.length === ips.length && ips.every(isSame);
}

/** Whether another cluster or a user may use this external service with its address. */
function isOthers(known: ServiceInUse, balancer: string, cluster: string): boolean {
  const { service, users, unmarkedUsers } = known;
  if (service.hostname) return true;
  const marked = clusterOf(service.metadata);
  if (marked !== undefined) return marked !== cluster;
  // Without a mark and without a load balancer, the external service may belong to a user.
  return users === 0 || unmarkedUsers.some((id) => id !== balancer);
}

/**
 * The external services that this load balancer uses, and leftovers: marked services, or services that the Go manager created for
 * its load balancer.
 */
function removalsOf(observed: Observed, cluster: string) {
  const { balancer, services, owners } = observed;
  const hasGoName = ownersByName(balancer.name).length > 0;
  const ruled = ruledIDs(balancer.lbConfig);
  return [...services.values()].flatMap((one) => {
    const { service, users, isOrphan } = one;
    const [marked, creator] = [clusterOf(service.metadata), markedOwner(service.metadata)];
    // The Go manager creates one external service for each Node, with one address.
    const isGo = marked === undefined && hasGoName && service.externalIpAddresses?.length === 1;
    const isUsed = ruled.has(service.id);
    // Nothing uses the external service, because its creation or an earlier removal was interrupted.
    const isLeftover = users === 0 && creator !== undefined && (isOrphan || owners.includes(creator));
    const consumers = service.links?.["consumedbyservices"];
    const link = linkFor(service, "remove");
    if (!(isGo || marked === cluster) || !(isUsed || isLeftover)) return [];
    if (service.state === "removing" || link === undefined || consumers === undefined) return [];
    const step: RancherStep = {
      do: "remove external service",
      on: service.name,
      targetsPart: "all",
      kind: "remove unused",
      link,
      consumers,
      user: balancer.id,
      isLeftover,
    };
    return [{ ...one, isUsed, isLeftover, step }];
  });
}

/** The removals after a change of the rules: services that lost their rule, and leftovers. */
export const removalsAfterChange = (
  observed: Observed,
  cluster: string,
  wanted: ReadonlySet<string>,
): readonly RancherStep[] =>
  removalsOf(observed, cluster).flatMap(({ service, step }) => (wanted.has(service.id) ? [] : step));

/**
 * The removals with the load balancer: all services that it has a rule for. Each is removed by its last user. Unmarked services
 * are removed before the rules if only this load balancer uses them, because without a rule nothing proves that they belonged to
 * it.
 */
export function removalsAtEnd(observed: Observed, cluster: string) {
  const all = removalsOf(observed, cluster).toSorted(
    (one, other) => Number(one.isLeftover) - Number(other.isLeftover),
  );
  const isFirst = ({ service, users, isUsed }: (typeof all)[number]) =>
    clusterOf(service.metadata) === undefined && users === (isUsed ? 1 : 0);
  return {
    first: all.flatMap((one) => (isFirst(one) ? one.step : [])),
    last: all.flatMap((one) => (isFirst(one) ? [] : one.step)),
  };
}

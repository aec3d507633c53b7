// The load balancers of Rancher: a service with haproxy containers for each Service, and external services for the Nodes.

import { type Call, collect, compareIp, type LoadBalancers, parseIp, publishIPs } from "#ccm";
import type { RancherApi } from "./api.ts";
import { applyStep, findStack, TakenNames } from "./apply.ts";
import {
  type Annotations,
  balancerName,
  clusterOf,
  type Desired,
  groupOfOwner,
  type Mark,
  markedOwner,
  type Observed,
  ownersByName,
  type Prefetched,
  type RancherStep,
  type ServiceInUse,
} from "./balancer.ts";
import { mergeHosts } from "./instances.ts";
import { needsCertificates, rangesIn, sendsProxy, settingsOf } from "./lb-config.ts";
import { addressOf } from "./plan-backends.ts";
import { planLoadBalancer } from "./plan-balancer.ts";
import { moveMark, targetsOnly } from "./plan-changes.ts";
import type {
  ApiCertificate,
  ApiExternalService,
  ApiHost,
  ApiLoadBalancer,
  ApiSetting,
} from "./resources.ts";
import type { Settings } from "./settings.ts";

/** The load balancers with a rule for each external service, without those that are being removed. */
function usersOf(balancers: readonly ApiLoadBalancer[]): ReadonlyMap<string, readonly ApiLoadBalancer[]> {
  const users = new Map<string, Set<ApiLoadBalancer>>();
  for (const balancer of balancers) {
    if (balancer.state === "removing") continue;
    for (const { serviceId } of balancer.lbConfig?.portRules ?? []) {
      if (serviceId) users.set(serviceId, (users.get(serviceId) ?? new Set()).add(balancer));
    }
  }
  return new Map([...users].map(([id, set]) => [id, [...set]]));
}

type Marks = Pick<Observed, "group" | "owners" | "ownership" | "cluster" | "marksNameCluster">;

/** The mark in the metadata takes precedence over the name, which is the mark of the Go manager and has no cluster. */
function marksOf({ id, name, metadata }: ApiLoadBalancer, { cluster }: Mark): Marks {
  const [owner, other] = [markedOwner(metadata), clusterOf(metadata)];
  const owners = owner === undefined ? ownersByName(name) : [owner];
  if (owners.length === 0) return { group: `unmarked ${id}`, owners, ownership: "unmarked" };
  const group = owner === undefined ? name : groupOfOwner(owner);
  if (other !== undefined && other !== cluster)
    return { group, owners, ownership: "foreign", cluster: other };
  return { group, owners, ownership: "ours", ...(other === undefined && { marksNameCluster: false }) };
}

/** By stack and name in lower case: names are unique in a stack. */
function servicesByStack(
  listed: readonly ApiExternalService[],
  all: readonly ApiLoadBalancer[],
  mark: Mark,
): ReadonlyMap<string, ReadonlyMap<string, ServiceInUse>> {
  const users = usersOf(all);
  const owners = new Set(all.flatMap((balancer) => marksOf(balancer, mark).owners));
  const stacks = new Map<string, Map<string, ServiceInUse>>();
  for (const service of listed) {
    const creator = markedOwner(service.metadata);
    const isOrphan = creator !== undefined && !owners.has(creator);
    const inUse = { service, isOrphan, usedBy: users.get(service.id) ?? [] };
    const stack = stacks.get(service.stackId) ?? new Map<string, ServiceInUse>();
    stacks.set(service.stackId, stack.set(service.name.toLowerCase(), inUse));
  }
  return stacks;
}

export async function listBalancers(api: RancherApi, mark: Mark, call: Call): Promise<readonly Observed[]> {
  // First the external services: the load balancer for which one was created is then listed too.
  const listed = await collect(api.list<ApiExternalService>("externalService", call));
  const all = await collect(api.list<ApiLoadBalancer>("loadBalancerService", call));
  const stacks = servicesByStack(listed, all, mark);
  return all.flatMap((balancer): readonly Observed[] => {
    const { id, name, state, stackId } = balancer;
    // One that is being removed does not exist any more: only its name is still taken.
    if (state === "removing") return [];
    return [
      {
        ...marksOf(balancer, mark),
        name: `${name} (${id})`,
        state: state === "active" ? "ready" : "changing",
        balancer,
        services: stacks.get(stackId) ?? new Map(),
      },
    ];
  });
}

const needsHosts = ({ requestedAddress }: Desired): boolean => requestedAddress !== undefined;

async function prefetch(
  api: RancherApi,
  operator: Settings,
  desired: readonly Desired[],
  call: Call,
): Promise<Prefetched> {
  const stack = await findStack(api, operator["load-balancers-stack"], call);
  let image = operator["load-balancers-image"];
  if (image === undefined) {
    const settings = await collect(api.list<ApiSetting>("setting", call, { name: "lb.instance.image" }));
    const found = settings.find((one) => (one.name ?? one.id).toLowerCase() === "lb.instance.image");
    const value = found?.activeValue ?? found?.value ?? "";
    image = value === "" ? undefined : value;
  }
  const certificates = desired.some(needsCertificates)
    ? await collect(api.list<ApiCertificate>("certificate", call))
    : [];
  const hosts = desired.some(needsHosts)
    ? mergeHosts(await collect(api.list<ApiHost>("host", call, { include: "ipAddresses" })))
    : [];
  return { stackID: stack?.id, image, certificates, hosts };
}

export function rancherLoadBalancers(
  api: RancherApi,
  operator: Settings,
  mark: Mark,
): LoadBalancers<Annotations, Observed, RancherStep, Prefetched> {
  const stack = operator["load-balancers-stack"];
  const names = new TakenNames(api);
  return {
    groupOf: ({ defaultName }) => balancerName(defaultName),
    list: async function* (call) {
      yield await listBalancers(api, mark, call);
    },
    adopts: ({ settings }, { balancer }) =>
      settings["lb-adopt"] === balancer.id || settings["lb-adopt"] === balancer.name,
    requestsAdoption: ({ settings }) => settings["lb-adopt"],
    releases: true,
    prefetchKey: (desired) =>
      `${needsCertificates(desired) ? "certificates" : ""} ${needsHosts(desired) ? "hosts" : ""}`,
    prefetch: (desired, call) => prefetch(api, operator, desired, call),
    settingsOf,
    rangesOf: ({ balancer }) => rangesIn(balancer.lbConfig?.config),
    reaches: (_, target) =>
      target.machine === undefined || addressOf(target) !== undefined || "they have no IPv4 address",
    plan: ([desired], observed, { prefetched }) =>
      planLoadBalancer(desired, observed, prefetched, { stack, mark }),
    targetsOnly,
    targetCount: ({ balancer, services }) =>
      [...services.values()].filter(({ usedBy }) => usedBy.some(({ id }) => id === balancer.id)).length,
    apply: (step, call) => applyStep({ api, names }, step, call),
    moveMark: (observed) => moveMark(observed, mark),
    publish: ({ settings }, observed) => {
      const { publicEndpoints, lbConfig } = observed?.balancer ?? {};
      const ips = (publicEndpoints ?? []).flatMap(({ ipAddress }) => parseIp(ipAddress ?? "") ?? []);
      const ipMode = settings["lb-ip-mode"] ?? (sendsProxy(lbConfig?.config) ? "Proxy" : "VIP");
      const waitingFor = "the public endpoints of the load balancer";
      return publishIPs([...new Set(ips)].toSorted(compareIp), waitingFor, ipMode);
    },
    supports: ["requestedAddress", "sourceRanges", "sessionAffinity", "healthCheckNodePort", "UDP"],
  };
}

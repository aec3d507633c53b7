// The load balancers of Rancher: a service with haproxy containers for each Service, and external services for the Nodes.

import { type Call, collect, compareIp, type LoadBalancers, parseIp, publishIPs } from "#ccm";
import type { RancherApi } from "./api.ts";
import { applyStep, findStack, takenNames } from "./apply.ts";
import {
  type Annotations,
  clusterOf,
  type Desired,
  markedOwner,
  type Observed,
  ownersByName,
  type Prefetched,
  type RancherStep,
  type ServiceInUse,
} from "./balancer.ts";
import { hostsIn } from "./instances.ts";
import { settingsOf } from "./launch.ts";
import { needsCertificates, rangesIn, sendsProxy } from "./lb-config.ts";
import { addressOf } from "./plan-backends.ts";
import { moveMark, planLoadBalancer } from "./plan-balancer.ts";
import {
  type ApiCertificate,
  type ApiExternalService,
  type ApiLoadBalancer,
  type ApiSetting,
  ruledIDs,
} from "./resources.ts";
import type { Settings } from "./settings.ts";

type Marks = Pick<Observed, "owners" | "ownership" | "cluster" | "marksNameCluster">;

/** The mark in the metadata takes precedence over the name, which is the Go manager's mark and has no cluster. */
function marksOf({ name, metadata }: ApiLoadBalancer, cluster: string): Marks {
  const [owner, other] = [markedOwner(metadata), clusterOf(metadata)];
  const owners = owner === undefined ? ownersByName(name) : [owner];
  if (owners.length === 0) return { owners, ownership: "unmarked" };
  if (other !== undefined && other !== cluster) return { owners, ownership: "foreign", cluster: other };
  return { owners, ownership: "ours", ...(other === undefined && { marksNameCluster: false }) };
}

/** The services by stack and name in lower case, because names are unique in a stack. */
function servicesByStack(
  services: readonly ApiExternalService[],
  balancers: readonly ApiLoadBalancer[],
  cluster: string,
): ReadonlyMap<string, ReadonlyMap<string, ServiceInUse>> {
  const owners = new Set(balancers.flatMap((balancer) => marksOf(balancer, cluster).owners));
  const users = new Map<string, ApiLoadBalancer[]>(services.map(({ id }) => [id, []]));
  for (const balancer of balancers) {
    if (balancer.state === "removing") continue;
    for (const id of ruledIDs(balancer.lbConfig)) users.get(id)?.push(balancer);
  }
  const inUse = (service: ApiExternalService): readonly [string, ServiceInUse] => {
    const creator = markedOwner(service.metadata);
    const isOrphan = creator !== undefined && !owners.has(creator);
    const usedBy = users.get(service.id) ?? [];
    const unmarked = usedBy.filter(({ metadata }) => clusterOf(metadata) !== cluster);
    // Drop repeated ids, because a listing may show a load balancer twice.
    const unmarkedUsers = [...new Set(unmarked.map(({ id }) => id))].slice(0, 2);
    return [service.name.toLowerCase(), { service, isOrphan, users: usedBy.length, unmarkedUsers }];
  };
  const stacks = Map.groupBy(services, ({ stackId }) => stackId);
  return new Map([...stacks].map(([id, own]) => [id, new Map(own.map(inUse))]));
}

async function listBalancers(api: RancherApi, cluster: string, call: Call): Promise<readonly Observed[]> {
  // The external services are listed first, so that the load balancer for which one was created is in the later listing.
  const services = await collect(api.list<ApiExternalService>("externalService", call));
  const all = await collect(api.list<ApiLoadBalancer>("loadBalancerService", call));
  const stacks = servicesByStack(services, all, cluster);
  // A load balancer that is being removed counts as deleted, but its name is still taken.
  const existing = all.filter(({ state }) => state !== "removing");
  return existing.map((balancer) => ({
    ...marksOf(balancer, cluster),
    name: `${balancer.name} (${balancer.id})`,
    state: balancer.state === "active" ? "ready" : "changing",
    balancer,
    services: stacks.get(balancer.stackId) ?? new Map(),
  }));
}

const needsHosts = ({ requestedAddress }: Desired): boolean => requestedAddress !== undefined;

async function prefetch(api: RancherApi, operator: Settings, key: string, call: Call): Promise<Prefetched> {
  const stack = await findStack(api, operator["load-balancers-stack"], call);
  let image = operator["load-balancers-image"];
  if (image === undefined) {
    const settings = await collect(api.list<ApiSetting>("setting", call, { name: "lb.instance.image" }));
    const found = settings.find((one) => (one.name ?? one.id).toLowerCase() === "lb.instance.image");
    const value = found?.activeValue ?? found?.value ?? "";
    image = value === "" ? undefined : value;
  }
  const certificates = key.includes("certificates")
    ? await collect(api.list<ApiCertificate>("certificate", call))
    : [];
  const hosts = key.includes("hosts") ? await hostsIn(api, call) : [];
  return { stackID: stack?.id, image, certificates, hosts };
}

export function rancherLoadBalancers(
  api: RancherApi,
  operator: Settings,
  cluster: string,
): LoadBalancers<Annotations, Observed, RancherStep, Prefetched> {
  const stack = operator["load-balancers-stack"];
  const isTakenByOtherKind = takenNames(api);
  return {
    list: async function* (call) {
      yield await listBalancers(api, cluster, call);
    },
    adopts: ({ settings }, { balancer }) =>
      settings["lb-adopt"] === balancer.id || settings["lb-adopt"] === balancer.name,
    requestsAdoption: ({ settings }) => settings["lb-adopt"],
    prefetchKey: (desired) =>
      `${needsCertificates(desired) ? "certificates" : ""} ${needsHosts(desired) ? "hosts" : ""}`,
    prefetch: (key, call) => prefetch(api, operator, key, call),
    settingsOf,
    rangesOf: ({ balancer }) => rangesIn(balancer.lbConfig?.config),
    reaches: () => (target) =>
      target.machine === undefined || addressOf(target) !== undefined || "they have no IPv4 address",
    plan: (desired, observed, prefetched) =>
      planLoadBalancer(desired, observed, prefetched, { stack, cluster }),
    apply: (step, call) => applyStep({ api, isTakenByOtherKind, cluster }, step, call),
    moveMark: (observed) => moveMark(observed, cluster),
    publish: ({ settings }, observed) => {
      const { publicEndpoints, lbConfig } = observed?.balancer ?? {};
      const ips = (publicEndpoints ?? []).flatMap(({ ipAddress }) => parseIp(ipAddress ?? "") ?? []);
      const ipMode = settings["lb-ip-mode"] ?? (sendsProxy(lbConfig?.config) ? "Proxy" : "VIP");
      const waitingFor = "the public endpoints of the load balancer";
      return publishIPs([...new Set(ips)].toSorted(compareIp), waitingFor, ipMode);
    },
    needsHandles: false,
    supports: [
      "requestedAddress",
      "sourceRanges",
      "sessionAffinity",
      "healthCheckNodePort",
      "UDP",
      "release",
    ],
  };
}

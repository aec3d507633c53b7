// The load balancers of Rancher: a service with haproxy containers for each Service, and external services for the Nodes.

import { type BalancerAddress, type Call, compareIp, type LoadBalancers, parseIp } from "#ccm";
import { collect, type RancherApi } from "../api/client.ts";
import type { ApiCertificate, ApiHost, ApiSetting } from "../api/resources.ts";
import type { Settings } from "../check-settings.ts";
import { mergeHosts } from "../merge-hosts.ts";
import { applyStep } from "./apply.ts";
import { addressOf } from "./backends.ts";
import { needsCertificates } from "./certificates.ts";
import { rangesIn, sendsProxy } from "./haproxy.ts";
import { findStack, listBalancers } from "./listing.ts";
import type { Annotations, Desired, Mark, Observed, Prefetched, RancherStep } from "./model.ts";
import { balancerName } from "./names.ts";
import { planLoadBalancer } from "./plan.ts";
import { targetsOnly } from "./plan-changes.ts";
import { settingsOf } from "./settings-of.ts";
import { TakenNames } from "./taken-names.ts";

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
  const hosts = desired.some(({ requestedAddress }) => requestedAddress !== undefined)
    ? mergeHosts(await collect(api.list<ApiHost>("host", call, { include: "ipAddresses" })))
    : [];
  return { stackID: stack?.id, image, certificates, hosts };
}

function addressesOf({ settings }: Desired, { balancer }: Observed): readonly BalancerAddress[] {
  const ips = (balancer.publicEndpoints ?? []).flatMap(({ ipAddress }) => parseIp(ipAddress ?? "") ?? []);
  const ipMode =
    settings["lb-ip-mode"] ?? (sendsProxy(balancer.lbConfig?.config) ? ("Proxy" as const) : ("VIP" as const));
  return [...new Set(ips)].toSorted(compareIp).map((ip) => ({ ip, ipMode }));
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
    prefetch: (desired, call) => prefetch(api, operator, desired, call),
    settingsOf,
    rangesOf: ({ balancer }) => rangesIn(balancer.lbConfig?.config),
    reaches: (_, target) =>
      target.machine === undefined || addressOf(target) !== undefined || "they have no IPv4 address",
    plan: ([desired], observed, { prefetched }) =>
      planLoadBalancer(desired, observed, prefetched, { stack, mark }),
    targetsOnly,
    apply: (step, call) => applyStep({ api, names }, step, call),
    publish: (desired, observed) => {
      const addresses = observed === undefined ? [] : addressesOf(desired, observed);
      return addresses.length === 0
        ? { kind: "wait", waitingFor: "the public endpoints of the load balancer" }
        : { kind: "addresses", addresses };
    },
    supports: ["requestedAddress", "sourceRanges", "sessionAffinity", "healthCheckNodePort", "UDP"],
  };
}

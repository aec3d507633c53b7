// The load balancers of Hetzner: found by the labels of their Services, or by name if they have no such labels.

import {
  type BalancerAddress,
  type Context,
  collect,
  KeyedLock,
  type LoadBalancers,
  parseIp,
  type ServiceUID,
} from "#ccm";
import type { HetznerApi } from "./api.ts";
import { applyStep } from "./apply.ts";
import {
  type Annotations,
  type Desired,
  type HetznerStep,
  type Observed,
  type Prefetched,
  settingsOf,
  withDefaults,
} from "./balancer.ts";
import { needsCertificates } from "./certificates.ts";
import { isShared, ownerLabel, ownPart, portMarksOf } from "./marks.ts";
import { possible, targetLimit } from "./placement.ts";
import { creation, hasAddresses, planLoadBalancer } from "./plan-balancer.ts";
import type { ApiLoadBalancer } from "./resources.ts";
import type { NetworkID } from "./routes.ts";
import { hasRobotAccess, type Settings } from "./settings.ts";
import { type SharingContext, shareOf } from "./sharing.ts";
import { reach, targetChecks } from "./targets.ts";

/** One view for each Service that uses the load balancer, and one that a Service may adopt or join. */
function toObserved(balancer: ApiLoadBalancer, cluster: string | undefined): readonly Observed[] {
  const { id, name, labels } = balancer;
  const single = labels[ownerLabel];
  const marks = portMarksOf(balancer);
  const common = { name: `${name} (${id})`, state: "ready", balancer } as const;
  const sharers = new Map(marks.map((mark) => [mark.uid, mark]));
  const views = [...sharers.values()].map((mark): Observed => {
    const isForeign = cluster !== undefined && mark.cluster !== cluster;
    const ownership = isForeign ? "foreign" : "ours";
    return { ...common, owners: [mark.uid], ownership, clusterUID: mark.cluster };
  });
  // The label holds the uid of a Service: the Go manager or this provider wrote it.
  const owner = single as ServiceUID | undefined;
  if (owner === undefined) return [...views, { ...common, owners: [], ownership: "unmarked" }];
  return sharers.has(owner) ? views : [...views, { ...common, owners: [owner], ownership: "ours" }];
}

function addressesOf(
  { settings }: Pick<Desired, "settings">,
  { public_net: { enabled, ipv4, ipv6 }, private_net, services }: ApiLoadBalancer,
): readonly BalancerAddress[] {
  const { hostname } = settings;
  if (hostname !== undefined) return [{ hostname }];
  const texts = [
    ...(enabled ? [ipv4.ip, settings["ipv6-disabled"] === true ? undefined : ipv6.ip] : []),
    ...(settings["disable-private-ingress"] === true ? [] : private_net.map(({ ip }) => ip)),
  ];
  // The mode of the ports, which may change later than the annotation, for example when the certificate exists.
  const wanted = services.length === 0 && settings["uses-proxyprotocol"] === true;
  const ipMode = wanted || services.some(({ proxyprotocol }) => proxyprotocol) ? "Proxy" : "VIP";
  return texts.flatMap((text) => {
    const ip = parseIp(text ?? "");
    return ip === undefined ? [] : [{ ip, ipMode } as const];
  });
}

export function hetznerLoadBalancers(
  api: HetznerApi,
  operator: Settings,
  networkID: NetworkID | undefined,
  mark: Context["mark"],
): LoadBalancers<Annotations, Observed, HetznerStep, Prefetched> {
  const readsRobot = hasRobotAccess(operator);
  const locks = new KeyedLock();
  const context = (): SharingContext => ({ cluster: mark.clusterUID, operator });
  const chosen = <D extends Pick<Desired, "owner" | "ports" | "settings">>(
    desired: D,
    observed: Observed | undefined,
  ): D => {
    const requested = withDefaults(desired, operator);
    const share = observed && shareOf(requested, observed.balancer, context());
    return possible(share?.desired ?? requested, observed?.balancer);
  };
  return {
    list: async function* (call) {
      for await (const page of api.loadBalancers(call))
        yield page.flatMap((balancer) => toObserved(balancer, mark.clusterUID));
    },
    // The Go manager's label has no place for the cluster, and several clusters may share a project.
    marksNameCluster: false,
    adopts: ({ settings, defaultName }, { balancer }) =>
      balancer.name === (settings.name ?? defaultName) &&
      (settings.shared === undefined ? !isShared(balancer) : "shared"),
    prefetchKey: (desired) => (needsCertificates(desired) ? "certificates" : undefined),
    prefetch: async (key, call) => {
      const certificates = key === "" ? [] : await collect(api.certificates(call));
      return { networkID: await networkID?.(call), certificates };
    },
    settingsOf: (observed, _, published) => settingsOf(observed, operator, published),
    reaches: (desired, observed) => {
      const request = chosen(desired, observed);
      return (target) => reach(request, target, readsRobot);
    },
    targetLimit: (desired, observed) =>
      targetLimit(chosen(desired, observed).settings.type, observed?.balancer.load_balancer_type),
    healthOf: ({ targets, owner }, { balancer }) => targetChecks(targets, ownPart(balancer, owner.uid)),
    observeHealth: async (_, observed, call) => ({
      ...observed,
      balancer: await api.loadBalancer(observed.balancer.id, call),
    }),
    plan: (desired, observed, prefetched) =>
      planLoadBalancer(desired, observed, prefetched, operator, context()),
    apply: (step, call) => applyStep(api, locks, step, call),
    publish: (desired, observed) => {
      if (observed === undefined || !hasAddresses(observed.balancer))
        return { kind: "wait", waitingFor: creation };
      const own = ownPart(observed.balancer, desired.owner.uid);
      return { kind: "addresses", addresses: addressesOf(withDefaults(desired, operator), own) };
    },
    // Only Robot knows the public addresses of dedicated servers. The API rejects servers that it cannot reach.
    needsHandles: readsRobot ? undefined : false,
    // The health check uses the node port: kube-proxy drops it on a Node without an endpoint.
    supports: ["healthCheckNodePort", "release"],
  };
}

// Decisions of upstream's service controller that differ from those of Fairlead: for rows of its tests that
// expect upstream's result, and for the changes that Fairlead must detect at least.

import {
  hasFinalizer,
  isBeingDeleted,
  isLoadBalancer,
  wantsLoadBalancer,
} from "../../src/controllers/service/predicates.ts";
import { servesWithoutClass } from "../../src/controllers/service/served-classes.ts";
import { isDraining } from "../../src/controllers/service/targets/candidate-targets.ts";
import type { Cidr } from "../../src/core/brand.ts";
import { cidr } from "../../src/core/cidr.ts";
import type { LoadBalancerIngress, Node, Service } from "../../src/kube/objects.ts";

/** Upstream also removes the finalizer from Services of other controllers that use the same name for it. */
export const upstreamNeedsCleanup = (service: Service): boolean =>
  hasFinalizer(service, servesWithoutClass) && (isBeingDeleted(service) || !isLoadBalancer(service));

/** Upstream considers only IPv4. */
export const isAllowAll = (ranges: readonly Cidr[]): boolean => ranges.includes(cidr("0.0.0.0/0"));

const textOf = (value: unknown): string => JSON.stringify(value ?? null);

const portsOf = ({ ports }: Service["spec"]) =>
  (ports ?? []).map(
    ({ name = "", protocol = "", port, nodePort = 0, targetPort = 0, appProtocol = null }) => [
      name,
      protocol,
      port,
      nodePort,
      targetPort,
      appProtocol,
    ],
  );

const comparedOf = ({ metadata, spec }: Service): string =>
  textOf([
    metadata.uid,
    Object.entries(metadata.annotations ?? {}).toSorted(([a], [b]) => (a < b ? -1 : 1)),
    spec.loadBalancerSourceRanges,
    portsOf(spec),
    spec.sessionAffinity ?? "",
    spec.sessionAffinityConfig,
    spec.loadBalancerIP ?? "",
    spec.externalIPs ?? [],
    spec.externalTrafficPolicy ?? "",
    spec.healthCheckNodePort ?? 0,
    (spec.ipFamilies ?? []).length,
  ]);

/** Like upstream's needsUpdate. */
export const upstreamNeedsUpdate = (before: Service, after: Service): boolean => {
  const wanted = wantsLoadBalancer(before, servesWithoutClass);
  if (wanted !== wantsLoadBalancer(after, servesWithoutClass)) return true;
  return wanted && comparedOf(before) !== comparedOf(after);
};

/** Compares in order, and an absent ipMode differs from VIP. */
export const isSameIngressUpstream = (
  a: readonly LoadBalancerIngress[] | undefined,
  b: readonly LoadBalancerIngress[] | undefined,
): boolean => {
  const texts = (ingresses: readonly LoadBalancerIngress[] | undefined) =>
    (ingresses ?? []).map(({ ip = "", hostname = "", ipMode, ports }) =>
      textOf([
        ip,
        hostname,
        ipMode ?? null,
        (ports ?? []).map(({ port, protocol, error = "" }) => [port, protocol, error]),
      ]),
    );
  return textOf(texts(a)) === textOf(texts(b));
};

const memberTexts = (nodes: readonly Node[]): string =>
  textOf(
    nodes
      .map((node) => [node.metadata.name, isDraining(node), node.spec.providerID ?? ""].join(" "))
      .toSorted(),
  );

/** Compares names, provider ids and draining; order, labels and addresses make no difference. */
export const isSameNodeSet = (a: readonly Node[], b: readonly Node[]): boolean =>
  memberTexts(a) === memberTexts(b);

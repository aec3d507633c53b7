// Converts a Service into the desired load balancer for the provider, which needs no other information. Pure.

import { type Cidr, type IpAddress, type ServiceUID, serviceUID } from "../../../core/brand.ts";
import { defined } from "../../../core/defined.ts";
import { parseIp } from "../../../core/ip.ts";
import type { Problem } from "../../../core/problem.ts";
import type { Fields, Values } from "../../../core/settings.ts";
import type { Service, ServicePort } from "../../../kube/objects.ts";
import type { BalancerPort, BalancerTarget, DesiredLoadBalancer } from "../../../provider/load-balancers.ts";
import type { Facts } from "../../../provider/plan.ts";
import { familiesOf, healthCheckPathPort, sourceRangesOf } from "../annotations/source-ranges.ts";

interface DesiredInput<A extends Fields> {
  readonly service: Service;
  readonly settings: Values<A>;
  readonly facts: Facts;
  readonly targets: readonly BalancerTarget[];
  /** The ranges that the Service names, if any; the current ones while those are invalid. */
  readonly sourceRanges: readonly Cidr[] | undefined;
  readonly ending?: "delete" | "release";
}

/** The default name in the Go managers. Existing load balancers have it. */
export function defaultLoadBalancerName(uid: ServiceUID): string {
  return `a${uid.replaceAll("-", "")}`.slice(0, 32);
}

const protocols = ["TCP", "UDP", "SCTP"] as const;
const defaultAffinitySeconds = 10_800;

function protocolOf({ protocol = "TCP" }: ServicePort): BalancerPort["protocol"] {
  return protocols.find((known) => known === protocol) ?? "TCP";
}

function toPort(port: ServicePort): BalancerPort {
  return defined({
    name: port.name === "" ? undefined : port.name,
    protocol: protocolOf(port),
    port: port.port,
    // Zero means absent: the API server sets it when no node port is allocated.
    nodePort: port.nodePort === 0 ? undefined : port.nodePort,
    appProtocol: port.appProtocol,
  });
}

export function requestedAddressOf({ spec }: Service): IpAddress | undefined {
  return parseIp((spec.loadBalancerIP ?? "").trim(), "sloppy");
}

function affinitySecondsOf({ spec }: Service): number | undefined {
  return spec.sessionAffinity === "ClientIP"
    ? (spec.sessionAffinityConfig?.clientIP?.timeoutSeconds ?? defaultAffinitySeconds)
    : undefined;
}

export function toDesired<A extends Fields>({
  service,
  settings,
  facts,
  targets,
  sourceRanges,
  ending,
}: DesiredInput<A>): DesiredLoadBalancer<A> {
  const { metadata, spec } = service;
  const uid = serviceUID(metadata.uid);
  return {
    owner: { uid, namespace: metadata.namespace ?? "", name: metadata.name },
    defaultName: defaultLoadBalancerName(uid),
    ports: (spec.ports ?? []).map(toPort),
    targets,
    sourceRanges,
    families: familiesOf(service),
    externalTrafficPolicy: spec.externalTrafficPolicy === "Local" ? "Local" : "Cluster",
    settings,
    facts,
    ...defined({
      requestedAddress: requestedAddressOf(service),
      healthCheckNodePort: healthCheckPathPort(service)?.port,
      sessionAffinitySeconds: affinitySecondsOf(service),
      ending,
    }),
  };
}

/** Problems of the specification, reported together with those of the annotations. */
export function serviceProblems(service: Service): readonly Problem[] {
  const { loadBalancerIP = "" } = service.spec;
  const isInvalid = loadBalancerIP.trim() !== "" && requestedAddressOf(service) === undefined;
  const { problems } = sourceRangesOf(service);
  if (!isInvalid) return problems;
  const invalidAddress: Problem = {
    severity: "error",
    reason: "InvalidAddress",
    key: "spec.loadBalancerIP",
    text: `spec.loadBalancerIP must be an IP address, got ${JSON.stringify(loadBalancerIP.slice(0, 80))}`,
  };
  return [...problems, invalidAddress];
}

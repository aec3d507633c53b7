// One Service as a wish for a provider: complete, so that nothing has to be asked any more. It reads and spells out;
// which nodes are targets and what the annotations mean was decided before.

import { type Cidr, type IpAddress, type ServiceUID, serviceUID } from "../../../core/brand.ts";
import { parseIp } from "../../../core/ip.ts";
import type { Problem } from "../../../core/problem.ts";
import type { Fields, Values } from "../../../core/settings.ts";
import type { Service, ServicePort } from "../../../kube/objects.ts";
import type { BalancerPort, BalancerTarget, DesiredLoadBalancer } from "../../../provider/load-balancers.ts";
import type { Facts } from "../../../provider/plan.ts";
import { familiesOf, healthCheckPathPort, sourceRangesOf } from "../annotations/source-ranges.ts";

interface DesiredParts<A extends Fields> {
  readonly service: Service;
  readonly settings: Values<A>;
  readonly facts: Facts;
  readonly targets: readonly BalancerTarget[];
  /** As the Service says, or while that is wrong as they are. */
  readonly sourceRanges: readonly Cidr[];
  readonly ending?: "delete" | "release";
}

/** The name that Go managers give by default; balancers in use have it. */
export function defaultLoadBalancerName(uid: ServiceUID): string {
  return `a${uid.replaceAll("-", "")}`.slice(0, 32);
}

const protocols = ["TCP", "UDP", "SCTP"] as const;
const defaultAffinitySeconds = 10_800;

function protocolOf({ protocol = "TCP" }: ServicePort): BalancerPort["protocol"] {
  return protocols.find((known) => known === protocol) ?? "TCP";
}

function toPort(port: ServicePort): BalancerPort {
  return {
    ...(port.name !== undefined && port.name !== "" && { name: port.name }),
    protocol: protocolOf(port),
    port: port.port,
    // A zero is an absent one: no API server gives it to a Service with node ports.
    ...(port.nodePort !== undefined && port.nodePort !== 0 && { nodePort: port.nodePort }),
    ...(port.appProtocol !== undefined && { appProtocol: port.appProtocol }),
  };
}

function requestedAddressOf({ spec }: Service): IpAddress | undefined {
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
}: DesiredParts<A>): DesiredLoadBalancer<A> {
  const { metadata, spec } = service;
  const uid = serviceUID(metadata.uid);
  const requestedAddress = requestedAddressOf(service);
  const healthCheck = healthCheckPathPort(service);
  const affinitySeconds = affinitySecondsOf(service);
  return {
    owner: { uid, namespace: metadata.namespace ?? "", name: metadata.name },
    defaultName: defaultLoadBalancerName(uid),
    ports: (spec.ports ?? []).map(toPort),
    targets,
    sourceRanges,
    families: familiesOf(service),
    ...(requestedAddress !== undefined && { requestedAddress }),
    externalTrafficPolicy: spec.externalTrafficPolicy === "Local" ? "Local" : "Cluster",
    ...(healthCheck !== undefined && { healthCheckNodePort: healthCheck.port }),
    ...(affinitySeconds !== undefined && { sessionAffinitySeconds: affinitySeconds }),
    settings,
    facts,
    ...(ending !== undefined && { ending }),
  };
}

/** What is wrong with the specification itself, annotations apart: told beside theirs, and a creation waits for it. */
export function serviceProblems(service: Service): readonly Problem[] {
  const { loadBalancerIP = "" } = service.spec;
  const isWrong = loadBalancerIP.trim() !== "" && requestedAddressOf(service) === undefined;
  return [
    ...sourceRangesOf(service).problems,
    ...(isWrong
      ? [
          {
            severity: "error",
            reason: "InvalidAddress",
            key: "spec.loadBalancerIP",
            text: `spec.loadBalancerIP must be an IP address, got ${JSON.stringify(loadBalancerIP.slice(0, 80))}`,
          } as const,
        ]
      : []),
  ];
}

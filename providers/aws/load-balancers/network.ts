// The desired state of a network load balancer: its listeners with target groups, and its attributes. Pure.

import type { Attribute } from "../api/elbv2.ts";
import { type Desired, hasTLS, type PlanInput, rangesOf, servedPorts } from "./balancer.ts";
import { type TargetGroupKey, targetGroupName } from "./balancer-names.ts";
import { type NetworkCheck, networkCheck } from "./health-check.ts";
import { type Rule, tooLarge, unique } from "./rules.ts";

/** A listener and its target group. */
export interface Mapping {
  readonly port: number;
  /** The protocol: TCP, UDP, TCP_UDP or TLS. */
  readonly protocol: string;
  readonly nodePort: number;
  readonly targetProtocol: string;
  readonly certificate: string | undefined;
  readonly tlsPolicy: string | undefined;
  readonly check: NetworkCheck;
  readonly groupName: string;
}

type Port = ReturnType<typeof servedPorts>[number];

/** TCP and UDP at one port are one listener, which has one node port. */
function protocolOf(port: Port, all: readonly Port[]): string {
  const isShared = all.some((one) => one.port === port.port && one.protocol !== port.protocol);
  return isShared ? "TCP_UDP" : port.protocol;
}

/** Ports with TCP and UDP but two different node ports, although AWS forwards both to a single node port. */
export function splitPorts(desired: Pick<Desired, "ports">): readonly number[] {
  const ports = servedPorts(desired);
  const split = ports.filter((one) =>
    ports.some((other) => other.port === one.port && other.nodePort !== one.nodePort),
  );
  return [...new Set(split.map(({ port }) => port))];
}

export function mappingsOf(desired: Desired, { operator, network }: PlanInput): readonly Mapping[] {
  const { settings, owner } = desired;
  const all = servedPorts(desired).filter(({ protocol }) => protocol !== "SCTP");
  const check = networkCheck(desired, operator);
  const mappings = all.map((port): Mapping => {
    const plain = protocolOf(port, all);
    const isTLS = plain === "TCP" && hasTLS(desired, port);
    const targetProtocol = isTLS && settings["backend-protocol"] === "ssl" ? "TLS" : plain;
    const key: TargetGroupKey = {
      port: port.port,
      nodePort: port.nodePort,
      protocol: targetProtocol,
      checkProtocol: check.HealthCheckProtocol,
      interval: check.HealthCheckIntervalSeconds,
    };
    return {
      port: port.port,
      protocol: isTLS ? "TLS" : plain,
      nodePort: port.nodePort,
      targetProtocol,
      check,
      certificate: isTLS ? settings["ssl-cert"]?.[0] : undefined,
      tlsPolicy: isTLS ? settings["ssl-negotiation-policy"] : undefined,
      groupName: targetGroupName(network.identity, owner, key),
    };
  });
  return [...new Map(mappings.map((one) => [one.port, one])).values()];
}

/** The protocols of rules for a listener or a target group. */
export const ruleProtocols = (protocol: string): readonly string[] =>
  protocol === "TCP_UDP" ? ["tcp", "udp"] : [protocol === "UDP" ? "udp" : "tcp"];

/** The rules that clients need in the security group that Fairlead creates for a network load balancer. */
export function groupRules(desired: Desired, mappings: readonly Mapping[], isDual: boolean): readonly Rule[] {
  const ranges = [...rangesOf(desired, "IPv4"), ...(isDual ? rangesOf(desired, "IPv6") : [])];
  const ports = mappings.flatMap(({ port, protocol }) =>
    ruleProtocols(protocol).map((one) => ({ protocol: one, from: port, to: port })),
  );
  return unique([
    ...ports.flatMap((rule) => ranges.map((peer) => ({ ...rule, peer }))),
    ...ranges.filter((peer) => !peer.includes(":")).map((peer) => ({ ...tooLarge, peer })),
  ]);
}

/** AWS's defaults for attributes that a response lacks. */
export const usualAttributes: ReadonlyMap<string, string> = new Map([
  ["load_balancing.cross_zone.enabled", "false"],
  ["access_logs.s3.enabled", "false"],
]);

/** The attributes that differ. The bucket is kept while logging is off, because AWS rejects an empty bucket. */
export function attributeChanges(
  { settings }: Desired,
  found: ReadonlyMap<string, string>,
): readonly Attribute[] {
  const hasLogs = settings["access-log-enabled"];
  const wanted: readonly (readonly [string, string])[] = [
    ["load_balancing.cross_zone.enabled", String(settings["cross-zone-load-balancing-enabled"])],
    ["access_logs.s3.enabled", String(hasLogs)],
    ...(hasLogs
      ? ([
          ["access_logs.s3.bucket", settings["access-log-s3-bucket-name"] ?? ""],
          ["access_logs.s3.prefix", settings["access-log-s3-bucket-prefix"] ?? ""],
        ] as const)
      : []),
  ];
  return wanted.flatMap(([Key, Value]) =>
    (found.get(Key) ?? usualAttributes.get(Key) ?? "") === Value ? [] : [{ Key, Value }],
  );
}

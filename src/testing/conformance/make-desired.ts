// Builds the desired load balancer that a provider receives, from the few options that a test needs.

import type { NodeName, ServiceUID } from "../../core/brand.ts";
import { cidr } from "../../core/cidr.ts";
import { defined } from "../../core/defined.ts";
import { ipAddress } from "../../core/ip.ts";
import { readSettings } from "../../core/read-settings.ts";
import type { Fields } from "../../core/settings.ts";
import type { BalancerTarget, DesiredLoadBalancer } from "../../provider/load-balancers.ts";
import type { Harness } from "./simulated-cloud.ts";

/** What a test specifies about a Service. */
export interface DesiredOptions {
  /** Name of the Service; its uid is made from it. */
  readonly name: string;
  /** TCP ports, 80 when absent. The node port is 30000 above. */
  readonly ports?: readonly number[];
  readonly targets?: readonly BalancerTarget[];
  /** Clients that may connect; the Service names none when absent. */
  readonly sourceRanges?: readonly string[];
  /** Names without the provider's prefix. */
  readonly annotations?: Readonly<Record<string, string>>;
  /** Set when the Service is being deleted. */
  readonly ending?: "delete" | "release";
}

/** A Node as a target: its name, the instance source and key of its machine, and its InternalIP. */
export function targetOf(name: string, source: string, key: string, address = "10.0.0.1"): BalancerTarget {
  return {
    node: name as NodeName,
    machine: { source, key },
    labels: {},
    addresses: [ipAddress(address)],
    internalIPs: [ipAddress(address)],
    draining: false,
  };
}

/** The desired load balancer of a Service; throws when the provider rejects the annotations. */
export function makeDesired(harness: Harness, options: DesiredOptions): DesiredLoadBalancer<Fields> {
  const uid = `5e1f-${options.name}` as ServiceUID;
  const fields: Fields = harness.definition.annotations?.fields ?? {};
  const { values, problems } = readSettings(fields, options.annotations ?? {}, { what: "annotation" });
  if (problems.length > 0) throw new Error(problems.map(({ text }) => text).join("\n"));
  const desired = defined({
    owner: { uid, namespace: "default", name: options.name },
    defaultName: `a${uid.replaceAll("-", "")}`.slice(0, 32),
    ports: (options.ports ?? [80]).map((port) => ({
      protocol: "TCP" as const,
      port,
      nodePort: 30_000 + port,
    })),
    targets: options.targets ?? [],
    families: ["IPv4" as const],
    externalTrafficPolicy: "Cluster" as const,
    settings: values,
    facts: {},
    ending: options.ending,
  });
  return { ...desired, sourceRanges: options.sourceRanges?.map((range) => cidr(range)) };
}

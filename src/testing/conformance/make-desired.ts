// A Service's wish as a provider gets it, from the few things a test wants to say about it.

import type { IpAddress, NodeName, ServiceUID } from "../../core/brand.ts";
import { readSettings } from "../../core/read-settings.ts";
import type { Fields } from "../../core/settings.ts";
import type { BalancerTarget, DesiredLoadBalancer } from "../../provider/load-balancers.ts";
import type { Harness } from "./simulated-cloud.ts";

export interface DesiredWords {
  readonly name: string;
  readonly ports?: readonly number[];
  readonly targets?: readonly BalancerTarget[];
  /** Names without the provider's prefix. */
  readonly annotations?: Readonly<Record<string, string>>;
  readonly ending?: "delete" | "release";
}

export function targetOf(name: string, source: string, key: string): BalancerTarget {
  return {
    node: name as NodeName,
    machine: { source, key },
    labels: {},
    addresses: ["10.0.0.1" as IpAddress],
    draining: false,
  };
}

export function makeDesired(harness: Harness, words: DesiredWords): DesiredLoadBalancer<Fields> {
  const uid = `5e1f-${words.name}` as ServiceUID;
  const fields: Fields = harness.definition.annotations?.fields ?? {};
  const { values, problems } = readSettings(fields, words.annotations ?? {}, { what: "annotation" });
  if (problems.length > 0) throw new Error(problems.map(({ text }) => text).join("\n"));
  return {
    owner: { uid, namespace: "default", name: words.name },
    defaultName: `a${uid.replaceAll("-", "")}`.slice(0, 32),
    ports: (words.ports ?? [80]).map((port) => ({ protocol: "TCP", port, nodePort: 30_000 + port })),
    targets: words.targets ?? [],
    sourceRanges: [],
    families: ["IPv4"],
    externalTrafficPolicy: "Cluster",
    settings: values,
    facts: {},
    ...(words.ending !== undefined && { ending: words.ending }),
  };
}

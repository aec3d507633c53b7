// A Service as its user writes it, in parts that can be drawn and omitted one by one.

import { annotationKey } from "../../../src/controllers/service/annotations/annotations.ts";
import type { Service } from "../../../src/kube/objects.ts";
import type { JsonObject } from "../../../src/testing/apiserver/objects/json.ts";
import type { ServiceWorld } from "../service-world.ts";

export interface Specification {
  /** The annotations by complete key. */
  readonly annotations: Readonly<Record<string, string>>;
  /** Members of the spec, by the name of their part. An absent part has its default. */
  readonly parts: Readonly<Record<string, JsonObject>>;
}

export const name = "web";

const chosen = <T>(
  own: Readonly<Record<string, T>>,
  others: typeof own,
  isOther: (name: string) => boolean,
) =>
  Object.fromEntries([
    ...Object.entries(own).filter(([name]) => !isOther(name)),
    ...Object.entries(others).filter(([name]) => isOther(name)),
  ]);

/** The specification with these annotations, by their names, and parts of another one. */
export function withSome(
  own: Specification,
  other: Specification,
  names: readonly string[],
  prefix: string,
): Specification {
  const all = new Set(names.flatMap((one) => [one, annotationKey(one, prefix)]));
  const isOther = (one: string) => all.has(one);
  return {
    annotations: chosen(own.annotations, other.annotations, isOther),
    parts: chosen(own.parts, other.parts, isOther),
  };
}

type Protocol = "TCP" | "UDP" | "SCTP";

const portOf = (port: number, nodePort = 30_000 + port, protocol: Protocol = "TCP") => ({
  name: `${protocol.toLowerCase()}-${port}`,
  port,
  targetPort: port,
  protocol,
  nodePort,
});

const portSets = [
  [portOf(80), portOf(443)],
  [portOf(443), portOf(80)],
  [portOf(443)],
  [portOf(80, 30_081)],
  [portOf(80, 30_443), portOf(443, 30_080)],
  [portOf(80), portOf(443), portOf(1080)],
  [portOf(80), portOf(53, 30_053, "UDP")],
  [portOf(53, 30_053, "UDP")],
  [portOf(53), portOf(53, 30_053, "UDP")],
  [portOf(80), portOf(132, 30_132, "SCTP")],
];

/** The values of each part, except its default. No annotation has the name of a part. */
export const partValues: Readonly<Record<string, readonly JsonObject[]>> = {
  "spec ports": portSets.map((ports) => ({ ports })),
  "spec policy": [{ externalTrafficPolicy: "Local", healthCheckNodePort: 32_000 }],
  "spec families": [{ ipFamilies: ["IPv4", "IPv6"], ipFamilyPolicy: "RequireDualStack" }],
  "spec clients": [
    { loadBalancerSourceRanges: ["198.51.100.0/24"] },
    { loadBalancerSourceRanges: ["203.0.113.0/24", "198.51.100.0/24"] },
    { loadBalancerSourceRanges: ["192.0.2.0/25", "2001:db8::/48"] },
  ],
  "spec affinity": [
    { sessionAffinity: "ClientIP" },
    { sessionAffinity: "ClientIP", sessionAffinityConfig: { clientIP: { timeoutSeconds: 600 } } },
  ],
  "spec type": [{ type: "NodePort" }],
  "spec class": [{ loadBalancerClass: "example.com/other" }],
};

export function specOf({ parts }: Specification): JsonObject {
  const spec = {
    type: "LoadBalancer",
    ports: [portOf(80)],
    selector: { app: name },
    sessionAffinity: "None",
    externalTrafficPolicy: "Cluster",
    ipFamilies: ["IPv4"],
    ipFamilyPolicy: "SingleStack",
    ...Object.assign({}, ...Object.values(parts)),
  };
  if (spec["type"] === "LoadBalancer") return spec;
  const { healthCheckNodePort: _, loadBalancerClass: __, ...others } = spec;
  return others;
}

/** Writes or creates the Service. Annotations stay that are not in `before`, the user's last specification. */
export async function write(
  world: ServiceWorld,
  specification: Specification,
  before: Specification | undefined,
): Promise<void> {
  const spec = specOf(specification);
  if (before === undefined) {
    world.create(name, { annotations: specification.annotations, spec });
    return;
  }
  const [was, is] = [before, specification].map(({ parts }) => JSON.stringify(parts["spec class"]));
  // Kubernetes accepts another class only together with the type.
  if (was !== is) {
    world.editSpec(
      name,
      specOf({ ...before, parts: { ...before.parts, "spec type": { type: "NodePort" } } }),
    );
    await world.pass(120);
  }
  world.edit(name, ({ metadata, ...service }) => {
    const { clusterIP, clusterIPs } = service.spec as unknown as JsonObject;
    const kept = Object.entries(metadata.annotations ?? {}).filter(([key]) => !(key in before.annotations));
    const annotations = { ...Object.fromEntries(kept), ...specification.annotations };
    return {
      ...service,
      metadata: { ...metadata, annotations },
      spec: { ...spec, clusterIP, clusterIPs },
    } as unknown as Service;
  });
}

// The Services of a rehearsal.

import type { JsonObject } from "../../src/testing/apiserver/objects/json.ts";
import type { RehearsedService } from "./cloud.ts";

/** The node ports of a Service, so that two rehearsals have the same ones. The last port is that of the health check. */
const portsPerService = 10;

export function serviceDraft(
  name: string,
  index: number,
  { annotations = {}, ports = [{ port: 80 }], spec = {} }: RehearsedService = {},
): JsonObject {
  const firstPort = 30_000 + index * portsPerService;
  const isLocal = spec["externalTrafficPolicy"] === "Local";
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name, namespace: "default", annotations },
    spec: {
      type: "LoadBalancer",
      selector: { app: name },
      ports: ports.map(({ port, protocol = "TCP" }, position) => ({
        name: `port-${position}`,
        port,
        protocol,
        nodePort: firstPort + position,
      })),
      ...(isLocal && { healthCheckNodePort: firstPort + portsPerService - 1 }),
      ...spec,
    },
  };
}

export function serviceDrafts(services: Readonly<Record<string, RehearsedService>>): readonly JsonObject[] {
  return Object.entries(services).map(([name, service], index) => serviceDraft(name, index, service));
}

// Writes the EndpointSlice of a Service, as the endpoint controller does.

import type { JsonObject } from "../../src/testing/apiserver/objects/json.ts";
import { resourceNamed } from "../../src/testing/apiserver/objects/resource-table.ts";
import type { ServiceWorld } from "./service-world.ts";

const slices = resourceNamed("endpointslices");

/** `ready` and `unready` are the Nodes of ready pods and of pods that are not ready. */
export const putEndpoints = (
  { server }: Pick<ServiceWorld, "server">,
  service: string,
  ready: readonly string[],
  unready: readonly string[] = [],
): void => {
  const name = `${service}-1`;
  const toEndpoint = (nodeName: string, index: number, isReady: boolean) => ({
    addresses: [`10.1.${isReady ? 0 : 1}.${index + 1}`],
    nodeName,
    conditions: { ready: isReady },
  });
  const endpoints = [
    ...ready.map((node, index) => toEndpoint(node, index, true)),
    ...unready.map((node, index) => toEndpoint(node, index, false)),
  ];
  if (server.store.get("endpointslices", "default", name) !== undefined) {
    server.objects.patch(slices, "default", name, "", (now) => ({ ...now, endpoints }));
    return;
  }
  const labels = { "kubernetes.io/service-name": service };
  server.objects.create(slices, "default", {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: { name, namespace: "default", labels },
    addressType: "IPv4",
    endpoints,
    ports: [],
  } as JsonObject);
};

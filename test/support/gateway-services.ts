// The Services of type LoadBalancer that gateway controllers create, written by hand from the output of these versions:
// Envoy Gateway v1.9.0 (per Gateway, in its namespace), the operator of Cilium 1.20, and the Helm chart of Traefik 41.3.0.

import type { Service } from "../../src/kube/objects.ts";
import type { JsonObject } from "../../src/testing/apiserver/objects/json.ts";
import { resourceNamed } from "../../src/testing/apiserver/objects/resource-table.ts";
import type { ServiceWorld } from "./service-world.ts";

export interface GatewayParts {
  /** The name of the Gateway. */
  readonly name?: string;
  /** The annotations in `spec.infrastructure` of the Gateway, in the EnvoyProxy, or in the values of the chart. */
  readonly annotations?: Readonly<Record<string, string>>;
  readonly ports?: readonly JsonObject[];
  readonly spec?: JsonObject;
}

export interface RenderedService extends JsonObject {
  readonly metadata: { readonly name: string } & JsonObject;
  readonly spec: JsonObject;
}

const render = (metadata: RenderedService["metadata"], spec: JsonObject): RenderedService => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: { namespace: "default", ...metadata },
  spec: { type: "LoadBalancer", ...spec },
});

const port = (name: string, number: number, targetPort: number | string, protocol = "TCP") => ({
  name,
  port: number,
  targetPort,
  protocol,
});

const ownedBy = (name: string) => [
  { apiVersion: "gateway.networking.k8s.io/v1", kind: "Gateway", name, uid: `uid-${name}` },
];

export const envoyPorts = [port("http-80", 80, 10_080), port("https-443", 443, 10_443)];
/** For a listener with HTTP/3, Envoy Gateway adds a UDP port with the same number. */
export const envoyHTTP3 = [...envoyPorts, port("https-443-h3", 443, 10_443, "UDP")];

/** `spec`: fields of `envoyService` of the EnvoyProxy, or of a patch there. */
export function envoyGateway({
  name = "eg",
  annotations = {},
  ports = envoyPorts,
  spec = {},
}: GatewayParts = {}) {
  const labels = {
    "app.kubernetes.io/component": "proxy",
    "app.kubernetes.io/managed-by": "envoy-gateway",
    "app.kubernetes.io/name": "envoy",
    "gateway.envoyproxy.io/owning-gateway-name": name,
    "gateway.envoyproxy.io/owning-gateway-namespace": "default",
    "gateway.networking.k8s.io/gateway-name": name,
  };
  const common = { sessionAffinity: "None", externalTrafficPolicy: "Local", ports, selector: labels };
  return render({ name, labels, annotations, ownerReferences: ownedBy(name) }, { ...common, ...spec });
}

/** Has no selector and omits allocated fields, as Cilium writes the Service again at each reconcile. */
export function ciliumGateway({
  name = "cilium",
  annotations = {},
  ports = [{ name: "port-80", port: 80, protocol: "TCP" }],
  spec = {},
}: GatewayParts = {}) {
  const labels = { "gateway.networking.k8s.io/gateway-name": name, "io.cilium.gateway/owning-gateway": name };
  const common = { externalTrafficPolicy: "Cluster", ipFamilies: ["IPv4"], ports };
  return render(
    { name: `cilium-gateway-${name}`, labels, annotations, ownerReferences: ownedBy(name) },
    { ...common, ...spec },
  );
}

const traefikLabels = {
  "app.kubernetes.io/name": "traefik",
  "app.kubernetes.io/instance": "traefik-default",
};
export const traefikPorts = [port("web", 80, "web"), port("websecure", 443, "websecure")];
/** The effect of `ports.websecure.http3.enabled`: in the same Service, or with `service.single: false` in a second one. */
export const traefikHTTP3 = port("websecure-http3", 443, "websecure-http3", "UDP");

export function traefik({
  name = "traefik",
  annotations = {},
  ports = traefikPorts,
  spec = {},
}: GatewayParts = {}) {
  const labels = {
    ...traefikLabels,
    "app.kubernetes.io/managed-by": "Helm",
    "helm.sh/chart": "traefik-41.3.0",
  };
  return render({ name, labels, annotations }, { ports, selector: traefikLabels, ...spec });
}

const resource = resourceNamed("services");

/** Creates the Service, or writes it again: allocated fields that the new version omits stay, and so do annotations of others. */
export function applyService({ server }: ServiceWorld, rendered: RenderedService): Service {
  const { name } = rendered.metadata;
  if (server.store.get("services", "default", name) === undefined)
    return server.objects.create(resource, "default", rendered) as unknown as Service;
  return server.objects.patch(resource, "default", name, "", (now) => ({
    ...now,
    metadata: {
      ...now.metadata,
      annotations: { ...now.metadata.annotations, ...(rendered.metadata["annotations"] as JsonObject) },
    },
    spec: rendered.spec,
  })) as unknown as Service;
}

const slices = resourceNamed("endpointslices");

/** The EndpointSlice of a Cilium Gateway with HTTP listeners: an endpoint that does not exist, on no Node. */
export function applyCiliumEndpoints({ server }: ServiceWorld, gateway = "cilium"): void {
  const name = `cilium-gateway-${gateway}`;
  server.objects.create(slices, "default", {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: { name, namespace: "default", labels: { "kubernetes.io/service-name": name } },
    addressType: "IPv4",
    endpoints: [{ addresses: ["192.192.192.192"], conditions: { ready: true } }],
    ports: [{ port: 9999 }],
  });
}

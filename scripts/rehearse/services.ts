// The Services of a rehearsal, and how users change them.

import type { JsonObject } from "../../src/testing/apiserver/objects/json.ts";

const prefix = "load-balancer.hetzner.cloud/";

const own: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  plain: {},
  type: { type: "lb21" },
  algorithm: { "algorithm-type": "least_connections" },
  name: { name: "rehearsal-web" },
  place: { location: "nbg1" },
  hostname: { hostname: "lb.example.com" },
  private: { "use-private-ip": "true", "disable-public-network": "true" },
  "only-ipv4": { "ipv6-disabled": "true", "disable-private-ingress": "true" },
  http: { protocol: "http", "http-sticky-sessions": "true", "http-cookie-name": "session" },
  proxy: { "uses-proxyprotocol": "true" },
  check: {
    "health-check-protocol": "http",
    "health-check-http-path": "/healthz",
    "health-check-interval": "7s",
    "health-check-retries": "5",
  },
  rdns: { "ipv4-rdns": "lb4.example.com", "ipv6-rdns": "lb6.example.com" },
};

const prefixed = (annotations: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(annotations).map(([name, value]) => [prefix + name, value]));

export function serviceDraft(name: string, index: number, annotations = own[name] ?? {}): JsonObject {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name, namespace: "default", annotations: prefixed(annotations) },
    spec: {
      type: "LoadBalancer",
      selector: { app: name },
      ports: [{ name: "web", port: 80, nodePort: 30_000 + index, protocol: "TCP" }],
    },
  };
}

export const serviceDrafts = (): readonly JsonObject[] =>
  Object.keys(own).map((name, index) => serviceDraft(name, index));

/** The annotations of `plain`, changed in turns. */
export const changed = (round: number): JsonObject =>
  prefixed({ "health-check-interval": `${20 + round}s`, type: round % 2 === 0 ? "lb21" : "lb11" });

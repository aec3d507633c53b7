// Hetzner in a rehearsal.

import { serveCloud } from "#ccm/testing";
import { hetzner as provider } from "../../../providers/hetzner/index.ts";
import { HetznerCloud } from "../../../providers/hetzner/simulator/index.ts";
import { milliseconds } from "../../../src/core/brand.ts";
import { systemClock } from "../../../src/platform/clock.ts";
import type { AnyProvider } from "../../../src/provider/provider.ts";
import { prefixed, type RehearsalDefinition, type RehearsedCloud, type RehearsedService } from "../cloud.ts";

const prefix = "load-balancer.hetzner.cloud/";
const token = "t".repeat(64);

const annotations: Readonly<Record<string, Readonly<Record<string, string>>>> = {
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

const services = Object.fromEntries(
  Object.entries(annotations).map(([name, own]): [string, RehearsedService] => [
    name,
    { annotations: prefixed(prefix, own) },
  ]),
);

function open(): RehearsedCloud {
  const cloud = new HetznerCloud({
    clock: systemClock,
    actionTime: milliseconds(200),
    latency: milliseconds(5),
  });
  const { networks, servers, balancers } = cloud.project;
  cloud.tokens.add(token);
  const { id: network } = networks.add("cluster");
  const served = serveCloud(cloud, 0);
  return {
    api: cloud,
    flags: [
      ...["--cloud-provider=hcloud", "--allow-untagged-cloud"],
      ...["--cluster-cidr=10.244.0.0/16", "--allocate-node-cidrs=true", "--route-reconciliation-period=30s"],
    ],
    env: {
      HCLOUD_TOKEN: token,
      HCLOUD_ENDPOINT: `${served.url}/v1`,
      HCLOUD_NETWORK: "cluster",
      HCLOUD_NETWORK_DISABLE_ATTACHED_CHECK: "true",
      HCLOUD_METRICS_ENABLED: "false",
      HCLOUD_LOAD_BALANCERS_LOCATION: "fsn1",
    },
    services,
    addMachine: (name) => void servers.add(name, { networks: [{ network }] }),
    state: () => ({
      ...Object.fromEntries(balancers.list().map((balancer) => [`load balancer ${balancer.name}`, balancer])),
      ...Object.fromEntries(networks.list().map(({ name, routes }) => [`network ${name}`, { routes }])),
    }),
    isComplete: (nodes, wanted) =>
      networks.list().every(({ routes }) => routes.length === nodes) && balancers.list().length === wanted,
    [Symbol.asyncDispose]: () => served[Symbol.asyncDispose](),
  };
}

export const hetzner: RehearsalDefinition = {
  name: "hetzner",
  // The contract keeps each provider's own types; the framework only passes its values back to it.
  provider: provider as unknown as AnyProvider,
  peerVariable: "HCLOUD_CCM",
  passed: /^HCLOUD_(LOAD_BALANCERS|INSTANCES)_/,
  changed: (round) =>
    prefixed(prefix, {
      "health-check-interval": `${20 + round}s`,
      type: round % 2 === 0 ? "lb21" : "lb11",
    }),
  open,
};

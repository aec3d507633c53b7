// DigitalOcean in a rehearsal: Services with all annotations of its Go manager.

import { serveCloud } from "#ccm/testing";
import { digitalocean as provider } from "../../../providers/digitalocean/index.ts";
import { DigitalOceanCloud } from "../../../providers/digitalocean/simulator/index.ts";
import { milliseconds } from "../../../src/core/brand.ts";
import { systemClock } from "../../../src/platform/clock.ts";
import type { AnyProvider } from "../../../src/provider/provider.ts";
import { prefixed, type RehearsalDefinition, type RehearsedCloud, type RehearsedService } from "../cloud.ts";

const prefix = "service.beta.kubernetes.io/do-loadbalancer-";
const token = "t".repeat(64);

type Annotations = Readonly<Record<string, string>>;

function network(annotations: Annotations = {}, more: RehearsedService = {}): RehearsedService {
  return { annotations: prefixed(prefix, annotations), ...more };
}

function proxy(annotations: Annotations = {}, more: RehearsedService = {}): RehearsedService {
  return network({ type: "REGIONAL", ...annotations }, more);
}

const web = { ports: [{ port: 80 }, { port: 443 }] };

function servicesWith(uploaded: string, issued: string): Readonly<Record<string, RehearsedService>> {
  const tls = { "certificate-id": uploaded };
  return {
    plain: proxy(),
    network: network(),
    "network-udp": network({}, { ports: [{ port: 53, protocol: "UDP" }] }),
    "network-both": network({}, { ports: [{ port: 53, protocol: "UDP" }, { port: 53 }] }),
    "network-local": network({}, { spec: { externalTrafficPolicy: "Local" } }),
    "network-ipv4": network({ "network-stack": "IPV4" }),
    "network-sources": network({}, { spec: { loadBalancerSourceRanges: ["192.0.2.0/24", "10.0.0.0/8"] } }),
    "internal-network": network({ network: "INTERNAL" }),
    internal: proxy({ network: "INTERNAL" }),
    name: proxy({ name: "rehearsal-web" }),
    hostname: proxy({ hostname: "LB.example.com" }),
    local: proxy({}, { spec: { externalTrafficPolicy: "Local" } }),
    udp: proxy({}, { ports: [{ port: 80 }, { port: 5000, protocol: "UDP" }] }),
    unit: proxy({ "size-unit": "3" }),
    slug: proxy({ "size-slug": "lb-medium" }),
    ipv4: proxy({ "network-stack": "IPV4" }),
    http: proxy({ protocol: "http" }, web),
    https: proxy({ protocol: "https", ...tls }, web),
    http2: proxy({ protocol: "http2", ...tls }, web),
    lists: proxy(
      { "http-ports": "80,8080", "tls-ports": "443", "http2-ports": "8443", ...tls },
      { ports: [{ port: 80 }, { port: 8080 }, { port: 443 }, { port: 8443 }, { port: 25 }] },
    ),
    http3: proxy({ "http-ports": "80", "http2-ports": "443", "http3-port": "443", ...tls }, web),
    "default-tls": proxy({ protocol: "http", "certificate-name": "issued" }, web),
    issued: proxy({ protocol: "http", "tls-ports": "443", "certificate-id": issued }, web),
    passthrough: proxy({ "tls-passthrough": "true" }, web),
    redirect: proxy({ protocol: "http", "redirect-http-to-https": "true", ...tls }, web),
    dns: proxy({ "disable-lets-encrypt-dns-records": "true", "certificate-name": "issued" }, web),
    proxyprotocol: proxy({ "enable-proxy-protocol": "true" }),
    keepalive: proxy({ protocol: "http", "enable-backend-keepalive": "true" }),
    idle: proxy({ "http-idle-timeout-seconds": "120" }),
    sticky: proxy({
      protocol: "http",
      "sticky-sessions-type": "cookies",
      "sticky-sessions-cookie-name": "session",
      "sticky-sessions-cookie-ttl": "300",
    }),
    check: proxy({
      "healthcheck-check-interval-seconds": "10",
      "healthcheck-response-timeout-seconds": "7",
      "healthcheck-unhealthy-threshold": "4",
      "healthcheck-healthy-threshold": "6",
    }),
    override: proxy(
      {
        "override-health-check": "true",
        "healthcheck-protocol": "http",
        "healthcheck-path": "/healthz",
        "healthcheck-port": "80",
      },
      web,
    ),
    "override-tcp": proxy({ "override-health-check": "true" }),
    rules: proxy({ "allow-rules": "ip:192.0.2.1,cidr:198.51.100.0/24", "deny-rules": "cidr:10.0.0.0/8" }),
    algorithm: proxy({ algorithm: "least_connections" }),
  };
}

function open(): RehearsedCloud {
  const times = { activation: milliseconds(200), change: milliseconds(0) };
  const budget = { requestsPerHour: 1_000_000, requestsPerMinute: 1_000_000 };
  const cloud = new DigitalOceanCloud({ clock: systemClock, times, latency: milliseconds(5), ...budget });
  const { droplets, balancers, certificates } = cloud.account;
  cloud.tokens.add(token);
  const uploaded = certificates.add("uploaded");
  const issued = certificates.add("issued", { type: "lets_encrypt" });
  const served = serveCloud(cloud, 0);
  return {
    api: cloud,
    flags: ["--concurrent-service-syncs=5"],
    env: {
      DO_ACCESS_TOKEN: token,
      DO_OVERRIDE_URL: served.url,
      DO_CLUSTER_ID: "rehearsal",
      DO_CLUSTER_VPC_ID: "c33931f2-a26a-4e61-b85c-4e95a2ec431b",
      REGION: "nyc3",
      // Without this setting, the Go manager listens on port 80 of all addresses.
      METRICS_ADDR: "127.0.0.1:0",
    },
    services: servicesWith(uploaded.id, issued.id),
    addMachine: (name) => void droplets.add(name),
    state: () =>
      Object.fromEntries(
        balancers.list().map((balancer) => {
          // The Go manager sends these in any order.
          const droplet_ids = balancer.droplet_ids.toSorted((one, other) => one - other);
          const { allow, deny } = balancer.firewall;
          const firewall = { allow: allow.toSorted(), deny: deny.toSorted() };
          return [`load balancer ${balancer.name}`, { ...balancer, droplet_ids, firewall }];
        }),
      ),
    isComplete: (_, wanted) => balancers.list().length === wanted,
    [Symbol.asyncDispose]: () => served[Symbol.asyncDispose](),
  };
}

export const digitalocean: RehearsalDefinition = {
  name: "digitalocean",
  // The contract keeps each provider's own types; the framework only passes its values back to it.
  provider: provider as unknown as AnyProvider,
  peerVariable: "DIGITALOCEAN_CCM",
  passed: /^(DEFAULT_LB_TYPE$|PUBLIC_ACCESS_FIREWALL_)/,
  changed: (round) =>
    prefixed(prefix, {
      type: "REGIONAL",
      "http-idle-timeout-seconds": String(90 + round),
      "size-unit": String(2 + round),
    }),
  open,
};

// OpenStack in a rehearsal: Services with all annotations of its Go manager.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { serveCloud } from "#ccm/testing";
import { openstack as provider } from "../../../providers/openstack/index.ts";
import {
  addExternalNetwork,
  addRouter,
  addServer,
  OpenStackCloud,
} from "../../../providers/openstack/simulator/index.ts";
import { milliseconds } from "../../../src/core/brand.ts";
import { systemClock } from "../../../src/platform/clock.ts";
import type { AnyProvider } from "../../../src/provider/provider.ts";
import { prefixed, type RehearsalDefinition, type RehearsedCloud, type RehearsedService } from "../cloud.ts";

const prefix = "loadbalancer.openstack.org/";
const internal = { "service.beta.kubernetes.io/openstack-internal-load-balancer": "true" };
const [id, secret] = ["fairlead", "s".repeat(40)];

function service(
  annotations: Readonly<Record<string, string>> = {},
  more: RehearsedService = {},
): RehearsedService {
  return { annotations: prefixed(prefix, annotations), ...more };
}

const web = { ports: [{ port: 80 }, { port: 443 }] };
const monitored = { "enable-health-monitor": "true" };
const local = { spec: { externalTrafficPolicy: "Local" } };

export function openstackServices(
  network: string,
  subnet: string,
): Readonly<Record<string, RehearsedService>> {
  return {
    plain: service(),
    ports: service({}, web),
    udp: service({}, { ports: [{ port: 80 }, { port: 5000, protocol: "UDP" }] }),
    both: service({}, { ports: [{ port: 53, protocol: "UDP" }, { port: 53 }] }),
    internal: { annotations: internal },
    monitor: service(monitored, web),
    "monitor-udp": service(monitored, { ports: [{ port: 53, protocol: "UDP" }] }),
    "monitor-times": service({
      ...monitored,
      "health-monitor-delay": "7",
      "health-monitor-timeout": "4",
      "health-monitor-max-retries": "2",
      "health-monitor-max-retries-down": "4",
    }),
    local: service(monitored, local),
    "local-plain": service({}, local),
    sources: service({}, { spec: { loadBalancerSourceRanges: ["192.0.2.0/24", "10.0.0.0/8"] } }),
    affinity: service({}, { spec: { sessionAffinity: "ClientIP" } }),
    limit: service({ "connection-limit": "500" }),
    proxy: service({ "proxy-protocol": "true" }),
    "proxy-v2": service({ "proxy-protocol": "v2" }),
    forwarded: service({ "x-forwarded-for": "true" }),
    method: service({ "lb-method": "LEAST_CONNECTIONS" }),
    times: service({
      "timeout-client-data": "1000",
      "timeout-member-connect": "2000",
      "timeout-member-data": "3000",
      "timeout-tcp-inspect": "4000",
    }),
    hostname: service({ hostname: "lb.example.com" }),
    "keep-address": service({ "keep-floatingip": "true" }),
    "floating-network": service({ "floating-network-id": network }),
    "floating-subnet": service({ "floating-subnet": "public-*" }),
    subnet: service({ "subnet-id": subnet }),
    "member-subnet": service({ "member-subnet-id": subnet }),
  };
}

function open(): RehearsedCloud {
  const times = { balancer: milliseconds(100) };
  const cloud = new OpenStackCloud({ clock: systemClock, times, latency: milliseconds(5) });
  const { project, keystone, balancing } = cloud;
  keystone.applicationCredentials.set(id, secret);
  const floating = addExternalNetwork(project);
  addRouter(project, "router-1");
  addServer(project, "first");
  const [subnet = ""] = project.subnets.list().flatMap((one) => (one.id === floating.id ? [] : one.id));
  const served = serveCloud(cloud, 0);
  const folder = mkdtempSync(join(tmpdir(), "fairlead-rehearsal-"));
  const path = join(folder, "cloud.conf");
  const access = [
    `auth-url = ${served.url}/identity/v3`,
    "region = RegionOne",
    `application-credential-id = ${id}`,
  ];
  writeFileSync(path, ["[Global]", ...access, `application-credential-secret = ${secret}`, ""].join("\n"));
  return {
    api: {
      // A token does not change the project.
      get seen() {
        return cloud.seen.filter(({ operation }) => !operation.endsWith("/auth/tokens"));
      },
      forget: () => cloud.forget(),
    },
    flags: [`--cloud-config=${path}`, "--cluster-name=rehearsal", "--concurrent-service-syncs=5"],
    env: {},
    services: openstackServices(floating.network_id, subnet),
    addMachine: (name) => void addServer(project, name),
    state: () =>
      Object.fromEntries([
        ...balancing.balancers.list().map((one) => [`load balancer ${one.name}`, one]),
        ...balancing.listeners.list().map((one) => [`listener ${one.name} ${one.protocol}`, one]),
        ...balancing.pools.list().map((one) => {
          const members = one.members.toSorted((a, b) => (a.name < b.name ? -1 : 1));
          return [`pool ${one.name}`, { ...one, members }];
        }),
        ...balancing.monitors.list().map((one) => [`monitor ${one.name}`, one]),
        ...project.floatingIPs.list().map((one) => [`floating IP ${one.description}`, one]),
      ]),
    isComplete: (_, wanted) => balancing.balancers.list().length === wanted,
    [Symbol.asyncDispose]: async () => {
      rmSync(folder, { recursive: true, force: true });
      await served[Symbol.asyncDispose]();
    },
  };
}

export const openstack: RehearsalDefinition = {
  name: "openstack",
  // The contract keeps each provider's own types; the framework only passes its values back to it.
  provider: provider as unknown as AnyProvider,
  peerVariable: "OPENSTACK_CCM",
  passed: /^OS_CCM_REGIONAL$/,
  changed: (round) =>
    prefixed(prefix, {
      "connection-limit": String(100 + round),
      "timeout-client-data": String(1000 * (round + 1)),
    }),
  open,
};

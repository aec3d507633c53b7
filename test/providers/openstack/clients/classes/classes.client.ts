// Fairlead for one class beside the Go manager, in one simulated project and one real API server. Runs as
// `npm run test:clients -- openstack/classes`.

import { expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { serveCloud } from "#ccm/testing";
import {
  addExternalNetwork,
  addRouter,
  addServer,
  OpenStackCloud,
} from "../../../../../providers/openstack/simulator/index.ts";
import { openstackServices } from "../../../../../scripts/rehearse/clouds/openstack.ts";
import type { State } from "../../../../../scripts/rehearse/state.ts";
import { milliseconds } from "../../../../../src/core/brand.ts";
import { systemClock } from "../../../../../src/platform/clock.ts";
import { playBeside } from "../../../../clients/classes/beside.ts";
import type { ClassCloud } from "../../../../clients/classes/class-world.ts";

const [id, secret] = ["fairlead", "s".repeat(40)];
const nodes = ["node-0", "node-1", "node-2"];

/** The changes that a load balancer can get. */
const families = [
  ["plain", "ports", "monitor", "monitor-times", "sources", "limit", "times", "method", "local"],
  ["internal"],
  ["udp", "both", "monitor-udp"],
  ["keep-address", "plain"],
];

/** Names in place of ids and addresses, including those of deleted objects, because requests named them. */
class Names {
  readonly #cloud: OpenStackCloud;
  readonly #known = new Map<string, string>();

  constructor(cloud: OpenStackCloud) {
    this.#cloud = cloud;
  }

  note(): void {
    const { project, balancing } = this.#cloud;
    const add = (key: string, name: string) => this.#known.set(key, name);
    const nameOf = (key: string | null): string => this.#known.get(key ?? "") ?? "nothing";
    for (const one of balancing.balancers.list()) {
      add(one.id, one.name);
      add(one.vip_address, `VIP of ${one.name}`);
      add(one.vip_port_id, `port of ${one.name}`);
    }
    for (const one of balancing.listeners.list()) add(one.id, one.name);
    for (const one of balancing.pools.list()) {
      add(one.id, one.name);
      for (const member of one.members) add(member.id, `member ${member.name} of ${one.name}`);
    }
    for (const one of balancing.monitors.list()) add(one.id, `monitor of ${nameOf(one.pool)}`);
    for (const one of project.floatingIPs.list()) {
      add(one.id, one.description);
      add(one.floating_ip_address, `address of ${one.description}`);
    }
    for (const one of project.securityGroups.list()) {
      const name = withoutUID(one.name);
      add(one.name, name);
      add(one.id, name);
    }
  }

  in<T>(value: T): T {
    const byLength = [...this.#known].toSorted(([one], [other]) => other.length - one.length);
    const text = byLength.reduce((all, [key, name]) => all.replaceAll(key, name), JSON.stringify(value));
    return JSON.parse(text) as T;
  }
}

const withoutUID = (group: string): string => group.replace(/^lb-sg-[0-9a-f-]{36}-/, "lb-sg-");

const byName = (one: { readonly name: string }, other: { readonly name: string }): number =>
  one.name < other.name ? -1 : 1;

function stateOf({ project, balancing }: OpenStackCloud): State {
  return Object.fromEntries([
    ...balancing.balancers.list().map((one) => [`load balancer ${one.name}`, one]),
    ...balancing.listeners.list().map((one) => [`listener ${one.name} ${one.protocol}`, one]),
    ...balancing.pools
      .list()
      .map((one) => [`pool ${one.name}`, { ...one, members: one.members.toSorted(byName) }]),
    ...balancing.monitors.list().map((one) => [`monitor ${one.name}`, one]),
    ...project.floatingIPs.list().map((one) => [`floating IP ${one.description}`, one]),
    ...project.securityGroups.list().map((one) => {
      const rules = one.security_group_rules.map(({ id: _, ...rule }) => JSON.stringify(rule)).toSorted();
      return [`security group ${withoutUID(one.name)}`, { ...one, security_group_rules: rules }];
    }),
    ...project.ports
      .list()
      .map((one) => [`port ${one.id}`, { security_groups: one.security_groups.toSorted() }]),
  ]);
}

async function openProject(settings: readonly string[]): Promise<ClassCloud> {
  const times = { balancer: milliseconds(50) };
  const cloud = new OpenStackCloud({ clock: systemClock, times, latency: milliseconds(2) });
  cloud.keystone.applicationCredentials.set(id, secret);
  const { network_id: network } = addExternalNetwork(cloud.project);
  addRouter(cloud.project, "router-1");
  for (const name of nodes) addServer(cloud.project, name);
  const names = new Names(cloud);
  const folder = mkdtempSync(join(tmpdir(), "fairlead-classes-"));
  const open = (manager: string) => {
    const changes: string[] = [];
    const receive: OpenStackCloud["receive"] = (request) => {
      const { method, url, text = "" } = request;
      names.note();
      // A change of a port contains the security groups of all load balancers.
      if (method !== "GET" && !/\/auth\/tokens$|\/ports\//.test(url.pathname))
        changes.push(names.in(`${method} ${url.pathname}${url.search} ${text}`));
      return cloud.receive(request);
    };
    const served = serveCloud({ clock: systemClock, receive }, 0);
    const path = join(folder, `${manager}.conf`);
    const access = [
      `auth-url = ${served.url}/identity/v3`,
      "region = RegionOne",
      `application-credential-id = ${id}`,
      `application-credential-secret = ${secret}`,
    ];
    writeFileSync(path, ["[Global]", ...access, "[LoadBalancer]", ...settings, ""].join("\n"));
    return { served, changes, flags: [`--cloud-config=${path}`, "--cloud-provider=openstack"] };
  };
  const accesses = { go: open("go"), fairlead: open("fairlead") };
  const [subnet = ""] = cloud.project.subnets
    .list()
    .flatMap((one) => (one.network_id === network ? [] : one.id));
  return {
    services: openstackServices(network, subnet),
    families,
    nodes,
    stale: ["load-balancer-id", "load-balancer-address"].map((name) => `loadbalancer.openstack.org/${name}`),
    accessOf: (manager) => {
      const { flags, changes } = accesses[manager];
      return { flags, env: {}, takeChanges: () => changes.splice(0) };
    },
    read: async () => {
      names.note();
      return structuredClone(stateOf(cloud));
    },
    readable: (value) => names.in(value),
    portsIn: (state) => {
      const all: Record<string, number[]> = {};
      for (const [key, one] of Object.entries(state)) {
        const [, kind, name = ""] = /^(load balancer|listener) \S*_default_(\S+)/.exec(key) ?? [];
        const { protocol_port: port } = one as { readonly protocol_port?: number };
        if (kind !== undefined) all[name] = [...(all[name] ?? []), ...(port === undefined ? [] : [port])];
      }
      return all;
    },
    [Symbol.asyncDispose]: async () => {
      for (const { served } of Object.values(accesses)) await served[Symbol.asyncDispose]();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

test.each([
  ["by default", []],
  ["with security groups", ["manage-security-groups = true"]],
] as const)(
  "serves its load balancer class beside the Go manager through 60 changes %s, and changes nothing else [F105]",
  async (_, settings) => {
    const programs = {
      go: process.env["OPENSTACK_CCM"] ?? "",
      fairlead: "openstack",
    };
    const count = Number(process.env["FAIRLEAD_CHANGES"] ?? 60);
    const seed = Number(process.env["FAIRLEAD_SEED"] ?? 105);
    const { ofFairlead, trespasses } = await playBeside(() => openProject(settings), programs, {
      seed,
      count,
    });
    expect(trespasses).toEqual([]);
    expect(ofFairlead).toBeGreaterThan(count);
  },
);

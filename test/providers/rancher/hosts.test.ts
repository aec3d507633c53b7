// Hosts as instances: ids, names, addresses, states, pages, credentials.

import { expect, test } from "bun:test";
import { asTransport, collect, type Harness, Lab } from "#ccm/testing";
import { config, harness, keys } from "../../../providers/rancher/simulator/harness.ts";
import { RancherCloud } from "../../../providers/rancher/simulator/index.ts";
import { RancherWorld } from "./rancher-world.ts";

interface Setup {
  readonly settings?: Readonly<Record<string, string>>;
  readonly maxLimit?: number;
}

function labWith(setUp: (cloud: RancherCloud) => void, { settings = {}, maxLimit = 3000 }: Setup = {}) {
  let cloud: RancherCloud | undefined;
  const own: Harness = {
    ...harness,
    config: { ...config, ...settings },
    simulate: (clock) => {
      cloud = new RancherCloud({ clock, maxLimit });
      setUp(cloud);
      return { ...harness.simulate(clock), transport: asTransport(cloud) };
    },
  };
  const lab = new Lab(own);
  if (cloud === undefined) throw new Error("Expected a cloud.");
  return { lab, cloud };
}

async function instancesOf(lab: Lab, index = 0) {
  const source = lab.cloud.instances?.sources[index];
  if (source === undefined) throw new Error("Expected a source.");
  return (await lab.run((call) => collect(source.list(call)))).flat();
}

test("describes a Rancher host as the Go manager does [F1 F2 S11]", async () => {
  const { lab, cloud } = labWith(({ environment }) => {
    environment.hosts.add("web-1", { ips: ["192.0.2.1", "10.0.0.1"] });
  });
  const { uuid } = cloud.environment.hosts.existing("web-1");
  expect(await instancesOf(lab)).toEqual([
    {
      key: uuid,
      id: `rancher://${uuid}` as never,
      names: ["web-1"],
      shortName: "web-1",
      title: "web-1",
      state: "running",
      addresses: [
        { kind: "ExternalIP", value: "192.0.2.1" },
        { kind: "InternalIP", value: "192.0.2.1" },
        { kind: "ExternalIP", value: "10.0.0.1" },
        { kind: "InternalIP", value: "10.0.0.1" },
        { kind: "Hostname", value: "web-1" },
      ],
      type: "rancher",
      region: "Region1",
      zone: "FailureDomain1",
      cloudLabels: {},
      problems: [],
    },
  ]);
});

test("reads zone, region and type from the configured labels [F3 S11]", async () => {
  const settings = { "zone-label": "zone", "region-label": "region", "instance-type-label": "size" };
  const { lab } = labWith(
    ({ environment: { hosts } }) => {
      hosts.add("web-1", { labels: { zone: "a", region: "eu", size: "large" } });
      hosts.add("web-2");
    },
    { settings },
  );
  const places = (await instancesOf(lab)).map(({ zone, region, type }) => [zone, region, type]);
  expect(places).toEqual([
    ["a", "eu", "large"],
    ["FailureDomain1", "Region1", "rancher"],
  ]);
});

test("returns the labels of a host [F107]", async () => {
  const labels = { team: "a", "example.com/rack": "r1", "io.rancher.host.os": "linux" };
  const { lab } = labWith(({ environment }) => environment.hosts.add("web-1", { labels }));
  expect((await instancesOf(lab))[0]?.cloudLabels).toEqual(labels);
});

test("lists 250 hosts in three pages, and merges the addresses of a host on two pages [S11 F9]", async () => {
  const { lab, cloud } = labWith(
    ({ environment }) => {
      // With two addresses, the host at the end of the first page is also on the second one.
      for (let index = 0; index < 250; index += 1)
        environment.hosts.add(`node-${index}`, index === 99 ? { ips: ["192.0.2.99", "10.0.0.99"] } : {});
    },
    { maxLimit: 100 },
  );
  const instances = await instancesOf(lab);
  expect(instances.flatMap(({ names }) => names)).toHaveLength(250);
  expect(cloud.seen.filter(({ operation }) => operation === "GET /hosts")).toHaveLength(3);
  expect(instances[99]?.addresses.map(({ value }) => value)).toContain("10.0.0.99");
  expect(instances[99]?.addresses.map(({ value }) => value)).toContain("192.0.2.99");
});

test("finds full and short names, and prefers an exact name [S11]", async () => {
  const namesOf = async (hostnames: readonly string[], settings = {}) => {
    const { lab } = labWith(
      ({ environment }) => {
        for (const hostname of hostnames) environment.hosts.add(hostname);
      },
      { settings },
    );
    return (await instancesOf(lab)).map(({ names }) => names);
  };
  expect(await namesOf(["a.example.com", "short", "c.example.com"])).toEqual([
    ["a.example.com", "a"],
    ["short"],
    ["c.example.com", "c"],
  ]);
  expect(await namesOf(["web.example.com", "Web"])).toEqual([["web.example.com"], ["web"]]);
  expect(await namesOf(["web.a", "web.b"])).toEqual([
    ["web.a", "web"],
    ["web.b", "web"],
  ]);
  expect(await namesOf(["web"], { "node-domains": "example.com" })).toEqual([["web", "web.example.com"]]);
});

test("finds the host with a short name for a Node with any domain, and never a host with another domain", async () => {
  const h = new RancherWorld();
  const { hosts } = h.cloud.environment;
  for (const name of ["short", "exact", "exact.example.com", "full.a", "twin", "twin"]) hosts.add(name);
  const nodes = ["short.example.com", "exact.example.com", "full", "full.b", "twin.example.com"];
  await h.start("cloud-node");
  for (const name of nodes) h.join(name);
  await h.world.pass(120);
  const hostOf = (name: string) => {
    const id = h.node(name)?.spec.providerID;
    return hosts.list().find(({ uuid }) => id === `rancher://${uuid}`)?.hostname;
  };
  expect(nodes.map(hostOf)).toEqual(["short", "exact.example.com", "full.a", undefined, undefined]);
});

test("does not guess the domain of a host when domains are configured", async () => {
  const h = new RancherWorld(0, { "node-domains": "example.com" });
  h.cloud.environment.hosts.add("web");
  await h.start("cloud-node");
  for (const name of ["web.example.com", "web.example.org"]) h.join(name);
  await h.world.pass(120);
  expect(h.node("web.example.com")?.spec.providerID).toStartWith("rancher://");
  expect(h.node("web.example.org")?.spec.providerID).toBeUndefined();
});

test("copies the configured labels of hosts, and reports labels that Kubernetes does not accept [F5 F107]", async () => {
  const h = new RancherWorld();
  const { hosts } = h.cloud.environment;
  const labels = { team: "a", "example.com/rack": "r1", "example.com/note": "not a value", other: "x" };
  hosts.add("web-1", { labels });
  await h.start("cloud-node", "--node-labels-from=example.com/*");
  h.join("web-1");
  await h.world.until(() => h.uninitialized === 0, "the Node");
  const labelsOf = () => h.node("web-1")?.metadata.labels ?? {};
  expect(labelsOf()).toMatchObject({ "example.com/rack": "r1" });
  expect(Object.keys(labelsOf())).not.toContain("team");
  expect(Object.keys(labelsOf())).not.toContain("example.com/note");
  await h.world.pass(1);
  expect(h.world.events("web-1").join("\n")).toContain("example.com/note");
  hosts.change("web-1", { labels: { ...labels, "example.com/rack": "r2" } });
  await h.world.until(() => labelsOf()["example.com/rack"] === "r2", "the changed label", 1200);
  hosts.change("web-1", { labels: { team: "a" } });
  await h.world.until(() => labelsOf()["example.com/rack"] === undefined, "the removal", 1200);
});

test.each([
  ["reconnecting", "running"],
  ["disconnected", "running"],
  ["error", "running"],
  ["inactive", "running"],
  ["removing", "terminating"],
  ["purging", undefined],
] as const)("a host in the state %s is %s", async (state, expected) => {
  const { lab } = labWith(({ environment }) => environment.hosts.add("web-1", { state }));
  expect((await instancesOf(lab))[0]?.state).toBe(expected as never);
});

test("reports an inactive host as suspended only if the settings say so, because its machine may run [F19 F106]", async () => {
  const { lab } = labWith(({ environment }) => environment.hosts.add("web-1", { state: "inactive" }), {
    settings: { "inactive-is-shutdown": "true" },
  });
  expect((await instancesOf(lab))[0]?.state).toBe("suspended");
});

test("reports a host without addresses and a lost agent, and keeps the addresses of the Node", async () => {
  const { lab } = labWith(({ environment }) => {
    environment.hosts.add("web-1", { ips: [] });
    environment.hosts.add("web-2", { state: "disconnected" });
  });
  const [empty, lost] = await instancesOf(lab);
  expect(empty?.addresses).toEqual([]);
  expect(empty?.problems).toMatchObject([{ severity: "error", reason: "IncompleteInstance" }]);
  expect(lost?.problems).toMatchObject([{ severity: "warning", reason: "HostAgentDisconnected" }]);
});

test("uses the address of the agent when the server does not include addresses", async () => {
  const { lab, cloud } = labWith(({ environment }) => environment.hosts.add("web-1"));
  cloud.ignoresInclude = true;
  expect((await instancesOf(lab))[0]?.addresses).toMatchObject([
    { value: "192.0.2.1" },
    { value: "192.0.2.1" },
    { value: "web-1" },
  ]);
});

test("recognizes API ids only if the settings say so, and checks the results of filters", async () => {
  const plain = labWith(({ environment }) => environment.hosts.add("web-1"));
  const source = plain.lab.cloud.instances?.sources[0];
  expect(source?.keyOf("rancher://1h1")).toBeUndefined();
  expect(source?.keyOf("rancher:///ABCDEF00-0000-4000-8000-00000000000a")).toBe(
    "abcdef00-0000-4000-8000-00000000000a",
  );
  expect(source?.keyOf("rancher://some-name")).toBeUndefined();
  const { lab, cloud } = labWith(
    ({ environment }) => {
      environment.hosts.add("web-1");
      environment.hosts.add("web-2");
    },
    { settings: { "api-ids": "true" } },
  );
  const [byUUID, byID] = lab.cloud.instances?.sources ?? [];
  expect([byUUID?.keyOf("rancher://1h2"), byID?.keyOf("rancher://1h2")]).toEqual([undefined, "1h2"]);
  const found = await lab.run(async (call) => byID?.lookups?.id?.find(["1h2"], call));
  expect(found?.get("1h2")).toMatchObject([{ title: "web-2", names: [] }]);
  const none = await lab.run(async (call) => byID?.lookups?.id?.find(["1h9"], call));
  expect(none?.get("1h9")).toEqual([]);
  cloud.environment.hosts.purge("web-2", lab.clock.now());
  const purged = await lab.run(async (call) => byID?.lookups?.id?.find(["1h2"], call));
  expect(purged?.get("1h2")).toEqual([]);
  cloud.ignoresFilters = true;
  const missing = await lab.run(async (call) => byUUID?.lookups?.id?.find(["gone"], call));
  expect(missing?.get("gone")).toEqual([]);
});

test("refuses to mix environments, and reports the environments that the key can read", async () => {
  const { lab } = labWith(({ environment }) => {
    environment.projects.push({ id: "1a7", name: "Staging" });
  });
  const failure = await instancesOf(lab).catch((error: unknown) => String(error));
  expect(failure).toContain(
    "The API key can read 2 environments: 1a5 (Default), 1a7 (Staging). Nothing is changed. Set project-id",
  );
  const chosen = labWith(
    ({ environment }) => {
      environment.projects.push({ id: "1a7", name: "Staging" });
      environment.hosts.add("web-1");
    },
    { settings: { "project-id": "1a7" } },
  );
  expect(await instancesOf(chosen.lab)).toHaveLength(1);
  const paths = chosen.cloud.seen.map(({ path }) => path);
  expect(paths.every((path) => path.startsWith("/v2-beta/projects/1a7"))).toBe(true);
});

test("finds the environment's hosts with an account key, although the collections at the account level are empty", async () => {
  const withAccountKey = (cloud: RancherCloud) => {
    cloud.environment.hosts.add("web-1");
    cloud.addAccountKey(keys.access, keys.secret);
  };
  for (const settings of [{}, { "project-id": "1a5" }, { url: `${config.url}/projects/1a5` }]) {
    const { lab } = labWith(withAccountKey, { settings });
    expect((await instancesOf(lab)).map(({ title }) => title)).toEqual(["web-1"]);
  }
  const { lab } = labWith((cloud) => {
    withAccountKey(cloud);
    cloud.environment.projects.length = 0;
  });
  const failure = await instancesOf(lab).catch((error: unknown) => String(error));
  expect(failure).toContain("The API key can read no environment. Nothing is changed. Use an API key of the");
});

test("keeps Nodes while the key is rejected in the middle of a run [F23 S11]", async () => {
  const h = new RancherWorld(3);
  await h.start("cloud-node,cloud-node-lifecycle", "--absence-confirmation=10s");
  await h.world.pass(30);
  h.cloud.revokeKeys();
  h.world.setReady("node-1", "False");
  h.cloud.environment.hosts.add("node-9");
  h.join("node-9");
  await h.world.pass(300);
  expect(h.node("node-1")).toBeDefined();
  expect(h.uninitialized).toBe(1);
  h.cloud.addKey(keys.access, keys.secret);
  await h.world.until(() => h.uninitialized === 0, "the Node", 600);
});

test("deletes the Node of a purged host, but not of a host whose agent is lost [F18 S11]", async () => {
  const h = new RancherWorld(3);
  const { hosts } = h.cloud.environment;
  await h.start("cloud-node,cloud-node-lifecycle", "--absence-confirmation=10s");
  await h.world.pass(30);
  hosts.change("node-1", { state: "disconnected", agentState: "disconnected" });
  hosts.purge("node-2", h.world.clock.now());
  h.world.setReady("node-1", "Unknown");
  h.world.setReady("node-2", "Unknown");
  await h.world.until(() => h.node("node-2") === undefined, "the deletion", 600);
  await h.world.pass(600);
  expect(h.node("node-1")).toBeDefined();
  expect(h.world.events("node-1").join("\n")).toContain("lost the connection to the agent of host node-1");
});

test("keeps the Node of a renamed host, and deletes the Node of a host that registered again [F18 S11]", async () => {
  const h = new RancherWorld(2);
  const { hosts } = h.cloud.environment;
  await h.start("cloud-node,cloud-node-lifecycle", "--absence-confirmation=10s");
  await h.world.pass(30);
  hosts.change("node-0", { hostname: "renamed" });
  hosts.registerAgain("node-1", h.world.clock.now());
  h.world.setReady("node-0", "Unknown");
  h.world.setReady("node-1", "Unknown");
  await h.world.until(() => h.node("node-1") === undefined, "the deletion", 600);
  await h.world.pass(600);
  expect(h.node("node-0")).toBeDefined();
});

test("does not initialize a Node whose name two hosts have, and names both [F14]", async () => {
  const h = new RancherWorld();
  const { hosts } = h.cloud.environment;
  hosts.add("twin");
  hosts.add("twin");
  hosts.add("single");
  await h.start("cloud-node");
  h.join("twin");
  h.join("single");
  await h.world.pass(120);
  expect(h.uninitialized).toBe(1);
  expect(h.node("single")?.spec.providerID).toStartWith("rancher://");
  expect(h.world.events("twin").join("\n")).toContain("twin");
});

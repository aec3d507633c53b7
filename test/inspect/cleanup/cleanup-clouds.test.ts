// The command `cleanup` in clouds whose marks do not always name the cluster.

import { expect, test } from "bun:test";
import { asTransport, asTransport as rancherTransport } from "#ccm/testing";
import { digitalocean } from "../../../providers/digitalocean/index.ts";
import { hetzner } from "../../../providers/hetzner/index.ts";
import { token } from "../../../providers/hetzner/simulator/harness.ts";
import { rancher } from "../../../providers/rancher/index.ts";
import { milliseconds } from "../../../src/core/brand.ts";
import type { KubeObject } from "../../../src/testing/apiserver/objects/kube-object.ts";
import { resourceNamed } from "../../../src/testing/apiserver/objects/resource-table.ts";
import {
  DigitalOceanWorld,
  token as doToken,
  quick,
  tcpPort,
} from "../../providers/digitalocean/digitalocean-world.ts";
import { HetznerWorld } from "../../providers/hetzner/hetzner-world.ts";
import { draft, RancherWorld } from "../../providers/rancher/rancher-world.ts";
import { type CommandOptions, runCommandIn } from "../../support/command-world.ts";

const cleanup = (w: HetznerWorld, args: readonly string[] = [], options: CommandOptions = {}) =>
  runCommandIn(w.world, ["cleanup", "--master=http://test-api-server", ...args], {
    provider: hetzner,
    cloud: asTransport(w.cloud),
    environment: { HCLOUD_TOKEN: token },
    ...options,
  });

/**
 * Two Services whose manager has stopped; `web` was removed from etcd, and another cluster has a load balancer in the project.
 */
async function leftBehind() {
  const w = new HetznerWorld({ nodes: 2 });
  await w.start("service");
  for (const name of ["web", "stays"]) w.world.create(name);
  await w.world.until(() => w.world.addressesOf("stays").length > 0, "addresses", 300);
  await w.world.pass(60);
  const web = w.world.get("web");
  await w.world.stop();
  w.world.server.store.remove(resourceNamed("services"), web as unknown as KubeObject);
  w.cloud.project.balancers.add("of-another-cluster", {
    labels: { "hcloud-ccm/service-uid": "uid-of-another-cluster" },
  });
  w.cloud.project.balancers.add("by-hand");
  return { w, owner: web.metadata.uid };
}

const ownersIn = (w: HetznerWorld) =>
  w.cloud.project.balancers.list().map(({ labels }) => labels["hcloud-ccm/service-uid"]);
const changesOf = ({ cloud }: { readonly cloud: readonly string[] }) =>
  cloud.filter((request) => !request.startsWith("GET "));

test("cleanup deletes nothing in a shared project without a selection, and names the flag that selects [N6 F56]", async () => {
  const { w, owner } = await leftBehind();
  const result = await cleanup(w, ["--yes"]);
  expect([result.code, changesOf(result)]).toEqual([3, []]);
  expect(result.out).toContain("its mark does not name the cluster, so it may belong to another one.");
  expect(result.out).toContain(`--owner=${owner}`);
  expect(result.out).toContain("Left: 2 load balancers that no flag selects. 1 in use and ");
  const stays = w.world.get("stays").metadata.uid;
  expect(result.out).toMatch(
    new RegExp(`owner: {3}${stays}\n.*\n {4}stays: {3}Service default/stays exists`),
  );
});

test("cleanup --owner deletes one load balancer in a shared project [N6 F56]", async () => {
  const { w, owner } = await leftBehind();
  const stays = w.world.get("stays").metadata.uid;
  const result = await cleanup(w, ["--yes", `--owner=${owner}`]);
  expect(result.code).toBe(0);
  expect(ownersIn(w)).toEqual([stays, "uid-of-another-cluster", undefined]);
});

test("cleanup --owner does not delete the load balancer of an existing Service [N6 F56]", async () => {
  const { w } = await leftBehind();
  const result = await cleanup(w, ["--yes", `--owner=${w.world.get("stays").metadata.uid}`]);
  expect(changesOf(result)).toEqual([]);
});

test("cleanup --all-marked warns, deletes everything with a mark, and keeps existing Services and unmarked objects [N6 F56]", async () => {
  const { w } = await leftBehind();
  const stays = w.world.get("stays").metadata.uid;
  const { uid } = w.world.server.store.get("namespaces", undefined, "kube-system")?.metadata ?? {};
  const result = await cleanup(w, ["--yes", "--all-marked", `--cluster-uid=${uid}`]);
  expect(result.code).toBe(0);
  expect(result.err).toContain("--all-marked also deletes load balancers of other clusters");
  expect(ownersIn(w)).toEqual([stays, undefined]);
});

test("cleanup --cluster-is-gone needs a selection in a shared project, too [N6 F56]", async () => {
  const { w, owner } = await leftBehind();
  const others = ({ url }: { readonly url: string }): undefined => {
    if (url.startsWith("http://test-api-server"))
      throw Object.assign(new Error("refused"), { code: "ECONNREFUSED" });
  };
  const flags = ["--yes", "--cluster-is-gone", "--cluster-name=prod"];
  const refused = await cleanup(w, flags, { others });
  expect([refused.code, changesOf(refused)]).toEqual([3, []]);
  const selected = await cleanup(w, [...flags, `--owner=${owner}`], { others });
  expect(selected.code).toBe(0);
  expect(ownersIn(w)).not.toContain(owner);
  expect(ownersIn(w)).toHaveLength(3);
});

test("cleanup keeps and reports a load balancer that is protected against deletion [N6 F56]", async () => {
  const { w, owner } = await leftBehind();
  const balancer = w.cloud.project.balancers
    .list()
    .find(({ labels }) => labels["hcloud-ccm/service-uid"] === owner);
  if (balancer === undefined) throw new Error("Expected a load balancer.");
  w.cloud.project.balancers.change(balancer.id, { isProtected: true });
  const result = await cleanup(w, ["--yes", `--owner=${owner}`]);
  expect(result.code).toBe(0);
  expect(result.err).toContain("is protected against deletion, so it stays in the cloud, without the label");
  expect(w.cloud.project.balancers.list().map(({ id }) => id)).toContain(balancer.id);
});

test("cleanup leaves no part of a load balancer in Rancher, and changes no other cluster [N6 F56]", async () => {
  const a = new RancherWorld(2, {}, { cluster: "a" });
  a.cloud.latency = milliseconds(0);
  const b = new RancherWorld(0, {}, { cluster: "b", cloud: a.cloud });
  b.addNode("node-of-b");
  await Promise.all([a.start("service"), b.start("service")]);
  a.world.create("web", draft());
  b.world.create("web", draft({}, [{ port: 81, protocol: "TCP", nodePort: 30_081 }]));
  for (let passed = 0; passed < 60; passed += 1) {
    await a.world.pass(1);
    await b.world.pass(1);
  }
  const ofB = b.balancerOf("web");
  const ofA = a.balancerOf("web");
  expect([ofA?.id, ofB?.id].toSorted()).toEqual(a.balancers.map(({ id }) => id).toSorted());
  const web = a.world.get("web");
  await a.world.stop();
  await b.world.stop();
  a.world.server.store.remove(resourceNamed("services"), web as unknown as KubeObject);
  const flags = a.flags("*").filter((flag) => !flag.startsWith("--controllers"));
  const args = ["cleanup", "--yes", "--master=http://test-api-server", ...flags];
  const result = await runCommandIn(a.world, args, { provider: rancher, cloud: rancherTransport(a.cloud) });
  expect(result.code).toBe(0);
  expect(a.balancers.map(({ id }) => id)).toEqual([ofB?.id ?? ""]);
  expect(a.externals.map(({ name }) => name)).toEqual(["node-of-b"]);
});

test("cleanup shows the owner of a name that lacks the last digit of the uid, and --owner selects it [N6 F56]", async () => {
  const w = new DigitalOceanWorld({ nodes: 2, ...quick });
  await w.start();
  w.world.create("web", { spec: { ports: [tcpPort(30_080)] } });
  await w.settle();
  const web = w.world.get("web");
  const { uid } = web.metadata;
  await w.world.stop();
  w.world.server.store.remove(resourceNamed("services"), web as unknown as KubeObject);
  const run = (...args: readonly string[]) =>
    runCommandIn(w.world, ["cleanup", "--master=http://test-api-server", "--yes", ...args], {
      provider: digitalocean as never,
      cloud: asTransport(w.cloud),
      environment: { DO_ACCESS_TOKEN: doToken },
    });
  const shown = await run();
  expect(shown.out).toContain(
    `owner:   ${uid.slice(0, -1)}… (its name lacks the last digit) (no such Service exists)`,
  );
  expect(shown.out).toContain(`--owner and the uid of its Service, which begins with ${uid.slice(0, -1)}`);
  expect(shown.out).not.toContain(uid.slice(0, -1) + (uid.endsWith("0") ? "1" : "0"));
  await run("--owner=00000000-0000-0000-0000-000000000000");
  expect(w.balancers()).toHaveLength(1);
  expect((await run(`--owner=${uid}`)).code).toBe(0);
  expect(w.balancers()).toEqual([]);
});

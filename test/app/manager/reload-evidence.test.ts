import { expect, test } from "bun:test";
import { trueView } from "../../../providers/fake/simulator/view.ts";
import type { Node } from "../../../src/kube/objects.ts";
import { ReloadingProcess } from "../../support/reloading-process.ts";
import { ServiceWorld } from "../../support/service-world.ts";

// A reload of the credentials: a different account may answer afterwards, so what the first account did not show proves nothing.

const own = "/etc/cloud.conf";

const start = async (nodes: number, ...args: readonly string[]) => {
  const world = new ServiceWorld({ nodes });
  const process = new ReloadingProcess({
    world,
    contents: { [own]: "token = one" },
    args: [`--cloud-config=${own}`, "--cluster-cidr=10.244.0.0/16", ...args],
  });
  const names = world.server.store.list("nodes").map(({ metadata }) => metadata.name);
  const setReady = (name: string, status: string): void =>
    world.changeNode(name, (node) => ({ ...node, status: { conditions: [{ type: "Ready", status }] } }));
  for (const name of names) setReady(name, "True");
  await process.untilLeading();
  return { world, process, names, setReady };
};

const count = ({ cloud }: ReloadingProcess, what: string): number =>
  cloud.filter((request) => request === what).length;

test("requires a new proof of absence before recreating a route that the previous account did not list", async () => {
  const { world, process, names } = await start(
    5,
    "--controllers=node-route",
    "--route-reconciliation-period=10s",
  );
  for (const [index, name] of names.entries()) {
    const podCIDR = `10.244.${index}.0/24`;
    const withRange = (node: Node): Node => ({
      ...node,
      spec: { ...node.spec, podCIDR, podCIDRs: [podCIDR] },
    });
    world.changeNode(name, withRange);
  }
  await world.pass(60);
  const created = count(process, "POST /v1/routes");
  expect(created).toBe(5);
  world.cloud.view = { ...trueView, routes: (all) => all.slice(1) };
  await world.pass(15);
  process.hangUp(own, "token = two");
  await world.pass(29);
  expect(count(process, "POST /v1/routes")).toBe(created);
  await world.until(() => count(process, "POST /v1/routes") > created, "the second proof", 20);
  await process.end();
});

test("ignores a load balancer listing from the previous account that arrives after the reload", async () => {
  const { world, process } = await start(1, "--controllers=service");
  for (const name of ["a", "b", "c"]) world.create(name);
  await world.until(() => world.addressesOf("c").length === 1, "the addresses");
  await world.pass(120);
  const { uid } = world.get("a").metadata;
  const view = {
    ...trueView,
    balancers: (all: Parameters<typeof trueView.balancers>[0]) =>
      all.filter(({ labels }) => labels["owner-uid"] !== uid),
  };
  world.cloud.view = view;
  world.cloud.faults.add({ kind: "slow", operation: "GET /balancers", milliseconds: 25_000 });
  process.forget();
  await world.until(
    () => process.cloud.some((what) => what.startsWith("GET /v1/balancers")),
    "a listing",
    3600,
  );
  process.hangUp(own, "token = two");
  // The reload cancels that listing. The next account lists immediately, and proves the absence 30 s later.
  await world.pass(29);
  expect(count(process, "POST /v1/balancers")).toBe(0);
  await world.until(() => count(process, "POST /v1/balancers") > 0, "the second proof", 35);
  expect(process.linesWith("LoadBalancerMissing")).toHaveLength(1);
  await process.end();
});

test("recreates a load balancer that is missing during a reload only after two listings of the new account", async () => {
  const { world, process } = await start(1, "--controllers=service");
  for (const name of ["a", "b", "c"]) world.create(name);
  await world.until(() => world.addressesOf("c").length === 1, "the addresses");
  await world.pass(120);
  const { uid } = world.get("a").metadata;
  const lost = world.cloud.balancers.list().find(({ labels }) => labels["owner-uid"] === uid);
  world.cloud.balancers.remove(lost?.id ?? "");
  await world.until(() => process.linesWith("LoadBalancerMissing").length === 1, "the first proof", 3600);
  await world.pass(10);
  process.forget();
  process.hangUp(own, "token = two");
  await world.pass(29);
  expect(count(process, "POST /v1/balancers")).toBe(0);
  await world.until(() => world.owners().includes(uid), "the second proof", 60);
  expect(process.linesWith("LoadBalancerMissing").length).toBeLessThanOrEqual(2);
  await process.end();
});

test("reports a held Node once, even when its absence is proved a second time", async () => {
  const { world, process, names, setReady } = await start(10);
  await world.pass(60);
  for (const name of names.slice(0, 5)) {
    world.cloud.machines.remove(name);
    setReady(name, "Unknown");
  }
  const reports = () =>
    world.server.store
      .list("events")
      .filter(({ reason }) => reason === "MassDeletionHeld")
      .reduce((sum, event) => sum + Number(event["count"]), 0);
  await world.until(() => reports() === 5, "the hold", 300);
  for (const token of ["two", "three", "four"]) {
    process.hangUp(own, `token = ${token}`);
    await world.pass(150);
  }
  expect(world.server.store.list("nodes")).toHaveLength(10);
  expect([reports(), process.linesWith("MassDeletionHeld").length]).toEqual([5, 5]);
  await process.end();
});

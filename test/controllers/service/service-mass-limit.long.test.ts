import { afterEach, expect, test } from "bun:test";
import { trueView } from "../../../providers/fake/simulator/view.ts";
import { resourceNamed } from "../../../src/testing/apiserver/objects/resource-table.ts";
import { problemsOf } from "../../support/service-problems.ts";
import { ServiceWorld } from "../../support/service-world.ts";

// The mass limit of load balancers: of 20 Services, at most four load balancers are removed or recreated within ten minutes
// because a Service vanished from the API or a load balancer from the cloud.

const names = Array.from({ length: 20 }, (_, index) => `s${index}`);
const services = resourceNamed("services");
const leaderElection = ["--leader-elect=true"];

let world: ServiceWorld | undefined;
afterEach(async () => {
  await world?.stop();
});

async function settledWorld(...flags: readonly string[]): Promise<ServiceWorld> {
  const w = new ServiceWorld();
  world = w;
  await w.start(...leaderElection, ...flags);
  for (const name of names) w.create(name);
  await w.until(() => names.every((name) => w.addressesOf(name).length === 1), "all addresses");
  await w.pass(60);
  w.forget();
  return w;
}

/** The Service disappears without a deletion timestamp, as after a restore of an old etcd. */
function vanish(w: ServiceWorld, name: string): () => void {
  const service = w.server.store.get("services", "default", name);
  if (service === undefined) throw new Error(`There is no Service ${name}.`);
  w.server.store.remove(services, service);
  return () => void w.server.store.put(services, service);
}

/** Deletes the load balancer in the cloud, as a user may. */
function loseBalancer(w: ServiceWorld, name: string): void {
  const { uid } = w.get(name).metadata;
  const balancer = w.cloud.balancers.list().find(({ labels }) => labels["owner-uid"] === uid);
  if (balancer === undefined) throw new Error(`${name} has no load balancer.`);
  w.cloud.balancers.remove(balancer.id);
}

function release(w: ServiceWorld): void {
  const lease = w.server.store.get("leases", "kube-system", "cloud-controller-manager");
  if (lease === undefined) throw new Error("There is no Lease.");
  const annotations = { ...lease.metadata.annotations, "fairlead.dev/release-hold": "load-balancers" };
  w.server.store.put(resourceNamed("leases"), { ...lease, metadata: { ...lease.metadata, annotations } });
}

/** Makes the manager list load balancers now, and twice later. */
async function relist(w: ServiceWorld): Promise<void> {
  w.manager.balancers?.request(Number.POSITIVE_INFINITY, "refresh");
  await w.pass(150);
}

const count = (w: ServiceWorld): number => w.cloud.balancers.list().length;
const heldFor = (w: ServiceWorld, reason: string): number =>
  w.manager.report().balancersOnHold.filter((hold) => hold.reason === reason).length;

test("20 Services that vanish within 10 s keep their load balancers, with a report, until the hold is released", async () => {
  const w = await settledWorld();
  for (const name of names) {
    vanish(w, name);
    await w.pass(0.5);
  }
  await w.pass(900);
  expect(w.changes).toEqual([]);
  expect(heldFor(w, "MassRemovalHeld")).toBe(20);
  expect(w.manager.report().balancersOnHold[0]?.message).toMatch(
    /^default\/s\d+ vanished from the API together with too many others: more than 4 within 10 minutes is treated as a fault of the cloud or the API server, so no load balancer of such a Service is removed\. To remove all of them: `kubectl -n kube-system annotate lease cloud-controller-manager fairlead\.dev\/release-hold=load-balancers`$/,
  );
  expect(w.manager.report().orphans).toHaveLength(20);
  expect(w.logged.filter((line) => line.includes("vanished from the API"))).toHaveLength(1);
  release(w);
  await w.until(() => count(w) === 0, "the removals", 120);
});

test("Services that return keep their load balancers, and the hold ends", async () => {
  const w = await settledWorld();
  const addresses = names.map((name) => w.addressesOf(name));
  const restores = names.map((name) => vanish(w, name));
  await w.pass(300);
  for (const restore of restores) restore();
  await w.pass(150);
  expect(w.changes).toEqual([]);
  expect(w.written).toEqual([]);
  expect(names.map((name) => w.addressesOf(name))).toEqual(addresses);
  expect(w.manager.report().balancersOnHold).toEqual([]);
  expect(w.manager.report().orphans).toEqual([]);
  expect(w.logged.join("\n")).toContain("The mass limit no longer holds load balancers");
});

test("a single Service that vanishes keeps its load balancer for 30 s, and then loses it", async () => {
  const w = await settledWorld();
  vanish(w, "s0");
  await w.pass(25);
  expect([w.changes, heldFor(w, "ServiceVanished")]).toEqual([[], 1]);
  await w.until(() => count(w) === 19, "the removal", 30);
  await w.pass(60);
  expect([w.changes.length, w.manager.report().balancersOnHold]).toEqual([1, []]);
});

test("Services that vanish one by one lose at most four load balancers within ten minutes, even across restarts", async () => {
  const w = await settledWorld();
  const removedAt: number[] = [];
  for (const name of names.slice(0, 10)) {
    vanish(w, name);
    for (let second = 0; second < 50; second += 1) {
      const before = count(w);
      await w.pass(1);
      for (let removed = count(w); removed < before; removed += 1) removedAt.push(w.clock.monotonic());
    }
    await w.stop();
    await w.start(...leaderElection);
    await w.until(() => w.manager.leads(), "it to lead");
    await w.pass(5);
  }
  const most = Math.max(
    ...removedAt.map((at) => removedAt.filter((one) => one >= at && one < at + 600_000).length),
  );
  expect(removedAt.length).toBeGreaterThan(0);
  expect(most).toBeLessThanOrEqual(4);
});

test("20 load balancers that many listings lack are recreated only after they were listed again", async () => {
  const w = await settledWorld();
  w.cloud.balancers.hasUniqueNames = false;
  w.cloud.view = { ...trueView, balancers: () => [] };
  await relist(w);
  await w.pass(150);
  expect(w.changes).toEqual([]);
  expect(heldFor(w, "MassRecreationHeld")).toBe(20);
  expect(w.events("s0").join("\n")).toContain(
    "Warning MassRecreationHeld The load balancer of this Service is absent",
  );
  expect(names.flatMap((name) => w.conditionsOf(name)).map(({ status, reason }) => [status, reason])).toEqual(
    names.map(() => ["False", "MassRecreationHeld"]),
  );
  w.cloud.view = trueView;
  await w.pass(180);
  expect([w.changes, w.manager.report().balancersOnHold, problemsOf(w.manager).length]).toEqual([[], [], 0]);
  expect(names.flatMap((name) => w.conditionsOf(name))).toEqual([]);
});

test("three of fourteen absent load balancers stay held when a Service is created", async () => {
  const w = await settledWorld();
  for (const name of names.slice(14)) w.delete(name);
  await w.pass(60);
  const absent = names.slice(0, 3);
  for (const name of absent) loseBalancer(w, name);
  await relist(w);
  expect(heldFor(w, "MassRecreationHeld")).toBe(3);
  w.create("late");
  await relist(w);
  await w.pass(1800);
  expect(w.addressesOf("late")).toHaveLength(1);
  expect([count(w), heldFor(w, "MassRecreationHeld")]).toEqual([12, 3]);
  release(w);
  await w.pass(120);
  expect(count(w)).toBe(15);
});

test("a restart counts all load balancers before it holds three of 20 that are absent", async () => {
  const w = await settledWorld();
  await w.stop();
  for (const name of names.slice(0, 3)) loseBalancer(w, name);
  await w.start(...leaderElection);
  await relist(w);
  expect([count(w), heldFor(w, "MassRecreationHeld")]).toEqual([20, 0]);
});

test("20 load balancers that were deleted in the cloud are recreated when the hold is released", async () => {
  const w = await settledWorld();
  w.cloud.balancers.clear();
  await relist(w);
  expect(w.changes).toEqual([]);
  release(w);
  await w.until(() => w.owners().length === 20, "the new load balancers", 120);
  expect(w.owners()).toEqual(w.wanted());
});

test("a restart during a hold recreates no load balancer, and a release still works", async () => {
  const w = await settledWorld();
  w.cloud.balancers.clear();
  await relist(w);
  await w.stop();
  await w.start(...leaderElection);
  await w.pass(150);
  expect(w.changes).toEqual([]);
  release(w);
  await w.until(() => w.owners().length === 20, "the new load balancers", 180);
});

test("Services whose deletion was seen lose their load balancers without a limit", async () => {
  const w = await settledWorld();
  for (const name of names.slice(0, 10)) w.delete(name);
  for (const name of names.slice(10)) w.editSpec(name, { type: "ClusterIP" });
  await w.until(() => count(w) === 0, "the removals", 30);
});

test.each([
  ["delete", 19],
  ["keep", 20],
] as const)(
  "--vanished-service-policy=%s, after a finalizer was removed manually, leaves %i of 20 load balancers",
  async (policy, left) => {
    const w = await settledWorld(`--vanished-service-policy=${policy}`);
    w.kubeFault = () => new Response("", { status: 503 });
    w.edit("s0", ({ metadata, ...rest }) => ({ ...rest, metadata: { ...metadata, finalizers: [] } }));
    w.delete("s0");
    await w.pass(0.05);
    w.kubeFault = undefined;
    // The deletion was seen, so nothing waits for the Service to return.
    await w.pass(10);
    expect([w.find("s0"), count(w), w.manager.report().orphans.length]).toEqual([undefined, left, left - 19]);
  },
);

test("no limit applies with --removal-limit=off", async () => {
  const w = await settledWorld("--removal-limit=off");
  for (const name of names) vanish(w, name);
  await w.until(() => count(w) === 0, "the removals", 60);
});

test("a deleted Service keeps its finalizer while too many load balancers are absent", async () => {
  const w = await settledWorld();
  w.cloud.view = { ...trueView, balancers: () => [] };
  await relist(w);
  w.delete("s0");
  await w.pass(900);
  expect(w.find("s0")?.metadata.finalizers).toHaveLength(1);
  expect(w.events("s0").join()).toContain("MassRemovalHeld The load balancer of this Service is absent");
  expect(count(w)).toBe(20);
  w.cloud.view = trueView;
  await w.pass(300);
  expect([w.find("s0"), count(w)]).toEqual([undefined, 19]);
});

test("a deleted Service keeps its finalizer when too many load balancers disappear together with its load balancer", async () => {
  const w = await settledWorld();
  const { balancers } = w.cloud;
  const remove = balancers.remove.bind(balancers);
  // Whatever hides the load balancers, such as credentials of another project, also answers the deletion and the later lookup.
  balancers.remove = () => undefined;
  w.cloud.view = { ...trueView, balancers: () => [] };
  w.delete("s0");
  await w.pass(900);
  expect([w.find("s0")?.metadata.finalizers?.length, count(w)]).toEqual([1, 20]);
  expect(w.events("s0").join()).toContain("MassRemovalHeld The load balancer of this Service is absent");
  balancers.remove = remove;
  w.cloud.view = trueView;
  await w.pass(300);
  expect([w.find("s0"), count(w)]).toEqual([undefined, 19]);
});

test("a deleted Service loses its finalizer when an operator releases the hold", async () => {
  const w = await settledWorld();
  w.cloud.view = { ...trueView, balancers: () => [] };
  await relist(w);
  w.delete("s0");
  await w.pass(120);
  release(w);
  await w.pass(120);
  expect(w.find("s0")).toBeUndefined();
});

test("does not repeat a creation whose response was lost while too many load balancers are absent", async () => {
  const w = await settledWorld();
  w.cloud.balancers.hasUniqueNames = false;
  w.cloud.view = { ...trueView, balancers: () => [] };
  await relist(w);
  w.cloud.faults.add({ kind: "false-error", operation: "POST /balancers", status: 500, calls: 1 });
  w.create("late");
  await w.pass(900);
  expect(count(w)).toBe(21);
  expect(w.events("late").join()).toContain("MassRecreationHeld");
  w.cloud.view = trueView;
  await w.until(() => w.addressesOf("late").length === 1, "the address", 180);
  expect([count(w), w.manager.report().balancersOnHold]).toEqual([21, []]);
});

test("a deleted Service whose creation got no response keeps its finalizer while too many load balancers are absent", async () => {
  const w = await settledWorld();
  w.cloud.view = { ...trueView, balancers: () => [] };
  await relist(w);
  w.cloud.faults.add({ kind: "false-error", operation: "POST /balancers", status: 500, calls: 1 });
  w.create("late");
  await w.pass(5);
  w.delete("late");
  await w.pass(900);
  expect([count(w), w.find("late")?.metadata.finalizers?.length]).toEqual([21, 1]);
  w.cloud.view = trueView;
  await w.until(() => w.find("late") === undefined, "the release", 300);
  expect(count(w)).toBe(20);
});

test("Services that are deleted while listings lack all load balancers do not end the hold", async () => {
  const w = await settledWorld();
  w.cloud.balancers.hasUniqueNames = false;
  w.cloud.view = { ...trueView, balancers: () => [] };
  await relist(w);
  for (const name of names.slice(3)) w.delete(name);
  await w.pass(900);
  expect([count(w), names.filter((name) => w.find(name) !== undefined).length]).toEqual([20, 20]);
  w.cloud.view = trueView;
  await w.until(() => count(w) === 3, "the removals", 300);
  await w.until(() => names.filter((name) => w.find(name) !== undefined).length === 3, "the releases", 60);
});

test("Services that are deleted during a hold do not end it for the next leader", async () => {
  const w = await settledWorld();
  const hidden = new Set(names.slice(0, 5).map((name) => w.get(name).metadata.uid));
  const balancers = () =>
    w.cloud.balancers.list().filter(({ labels }) => !hidden.has(labels["owner-uid"] ?? ""));
  w.cloud.view = { ...trueView, balancers };
  await relist(w);
  for (const name of ["s0", "s1"]) w.delete(name);
  await w.pass(5);
  await w.stop();
  await w.start(...leaderElection);
  await w.pass(900);
  expect([count(w), w.find("s0")?.metadata.finalizers?.length]).toEqual([20, 1]);
  expect([heldFor(w, "MassRemovalHeld"), heldFor(w, "MassRecreationHeld")]).toEqual([2, 3]);
  w.cloud.view = trueView;
  await w.until(() => count(w) === 18, "the removals", 300);
});

test("Services that were deleted before another leader took over do not wait for an operator", async () => {
  const w = await settledWorld();
  // The last requests of the old leader delete the load balancers, and it crashes before it removes the finalizers.
  for (const name of names.slice(0, 10)) loseBalancer(w, name);
  const stopped = w.stop();
  for (const name of names.slice(0, 10)) w.delete(name);
  await stopped;
  await w.start(...leaderElection);
  await w.until(() => w.services().length === 10, "the releases", 120);
  expect(w.logged.filter((line) => line.includes("treated as a fault"))).toEqual([]);
});

test("a Service that requests its load balancer again gets no replacement while listings lack too many load balancers", async () => {
  const w = await settledWorld();
  w.cloud.balancers.hasUniqueNames = false;
  // The cloud shows nothing after the deletion, which has no effect.
  const deletion = "DELETE /balancers/{id}";
  const isSent = (): boolean => w.cloud.seen.some(({ operation }) => operation === deletion);
  w.cloud.view = { ...trueView, balancers: (existing) => (isSent() ? [] : existing) };
  w.cloud.faults.add({ kind: "no-effect", operation: deletion, calls: 1 });
  w.editSpec("s0", { type: "ClusterIP" });
  await w.until(isSent, "the deletion", 120);
  w.editSpec("s0", { type: "LoadBalancer" });
  await w.pass(300);
  expect([count(w), w.changes.length]).toEqual([20, 1]);
  w.cloud.view = trueView;
  await w.until(() => w.manager.report().balancersOnHold.length === 0, "the end of the hold", 300);
  await w.pass(60);
  expect([count(w), w.addressesOf("s0").length]).toEqual([20, 1]);
});

test("load balancers that Fairlead deletes do not count as absent", async () => {
  const w = await settledWorld();
  // The cloud deletes the load balancers, but reports a failure.
  w.cloud.faults.add({ kind: "false-error", operation: "DELETE /balancers/{id}", status: 500, calls: 10 });
  for (const name of names.slice(0, 10)) w.delete(name);
  await w.until(() => names.filter((name) => w.find(name) !== undefined).length === 10, "the releases", 180);
  expect(w.logged.filter((line) => line.includes("treated as a fault"))).toEqual([]);
});

test.each([
  ["in the process that created them", false],
  ["after a restart", true],
])(
  "leaves no load balancer behind when all Services are deleted while listings are empty, %s",
  async (_, isRestarted) => {
    const w = await settledWorld();
    w.cloud.view = { ...trueView, balancers: () => [] };
    if (isRestarted) {
      await w.stop();
      await w.start(...leaderElection);
      await w.until(() => w.manager.leads(), "it to lead");
      await w.pass(5);
    } else {
      w.manager.balancers?.request(Number.POSITIVE_INFINITY, "refresh");
      await w.pass(1);
    }
    for (const name of names) w.delete(name);
    await w.pass(900);
    expect([count(w), w.services().length]).toEqual([20, 20]);
    w.cloud.view = trueView;
    await w.until(() => w.services().length === 0, "the releases", 300);
    expect(count(w)).toBe(0);
  },
);

import { afterEach, expect, test } from "bun:test";
import { readFlags } from "../../../src/app/flags/read-flags.ts";
import { removalWindow } from "../../../src/controllers/kernel/removal-kinds.ts";
import { resourceNamed } from "../../../src/testing/apiserver/objects/resource-table.ts";
import { runsAllTests } from "../../../src/testing/breadth.ts";
import { ServiceWorld } from "../../support/service-world.ts";

// The mass limit of Nodes while processes start and end: 10 Nodes, of which two may be deleted within ten minutes.

const leases = resourceNamed("leases");
const leaseName = "cloud-controller-manager";

let world: ServiceWorld | undefined;
afterEach(async () => {
  await world?.stop();
});

const setUp = async (...flags: readonly string[]) => {
  /** The writes, such as "update leases". */
  const requests: string[] = [];
  let refused = "nothing";
  const w = new ServiceWorld({
    nodes: 10,
    authorize: (_, { resource, verb }) => {
      const what = `${verb} ${resource}`;
      if (!/get|list|watch/.test(verb ?? "")) requests.push(what);
      return what !== refused;
    },
  });
  world = w;
  const refuse = (what: string) => {
    refused = what;
  };
  const start = (...more: readonly string[]) =>
    w.start("--leader-elect=true", "--controllers=cloud-node-lifecycle", ...flags, ...more);
  const nodes = () => w.server.store.list("nodes").map(({ metadata }) => metadata.name);
  for (const name of nodes()) w.setReady(name, "True");
  const lose = (...names: readonly string[]) => {
    for (const name of names) {
      w.cloud.machines.remove(name);
      w.setReady(name, "Unknown");
    }
  };
  const lease = () => w.server.store.get("leases", "kube-system", leaseName);
  const annotateLease = (annotations: Readonly<Record<string, string>>) => {
    const found = lease();
    if (found === undefined) throw new Error("There is no Lease.");
    const metadata = { ...found.metadata, annotations: { ...found.metadata.annotations, ...annotations } };
    w.server.store.put(leases, { ...found, metadata });
  };
  const leaseEvents = () =>
    w.server.store
      .list("events")
      .filter(({ involvedObject }) => (involvedObject as { kind?: string }).kind === "Lease")
      .map(({ reason, message }) => `${reason} ${message}`);
  await start();
  await w.until(() => w.manager.leads(), "it to lead");
  return { w, start, nodes, lose, lease, annotateLease, leaseEvents, requests, refuse };
};

test.each(["crash", "restart", "reload"])(
  "deletes at most two Nodes within ten minutes, although a %s follows every deletion [F22 N1]",
  async (how) => {
    const { w, start, lose } = await setUp();
    const deletedAt: number[] = [];
    w.server.onWrite(({ storage, type }) => {
      if (storage === "nodes" && type === "DELETED") deletedAt.push(w.clock.now());
    });
    for (let turn = 0; turn < 4; turn += 1) {
      lose(`node-${2 * turn}`, `node-${2 * turn + 1}`);
      await w.pass(120);
      if (how === "reload") {
        const settings = readFlags(["--concurrent-node-syncs=9"]);
        const reload = { settings, affectsControllers: true };
        const applied = w.manager.prepareReload(reload)();
        await w.pass(20);
        await applied;
        continue;
      }
      if (how === "crash") w.crash();
      else await w.stop();
      await start();
    }
    expect(deletedAt).toHaveLength(2);
    // The two held Nodes are deleted later, two at a time, and cause no faster deletions.
    await w.pass(11 * 60);
    for (const [index, at] of deletedAt.entries()) {
      const later = deletedAt[index + 2];
      if (later !== undefined) expect(later - at).toBeGreaterThanOrEqual(removalWindow);
    }
  },
);

/** The annotations that every leader writes. */
const ofLeader = { "fairlead.dev/cluster-name": "kubernetes" };

test("records removals on the Lease beside foreign annotations, and deletes the record when it expires", async () => {
  const { w, lose, lease, annotateLease, nodes } = await setUp();
  annotateLease({ "example.com/owner": "platform" });
  lose("node-0");
  await w.until(() => nodes().length === 9, "the deletion");
  const annotations = lease()?.metadata.annotations ?? {};
  expect(Object.keys(annotations).toSorted()).toEqual([
    "example.com/owner",
    ...Object.keys(ofLeader),
    "fairlead.dev/removals",
  ]);
  expect(Object.values(JSON.parse(annotations["fairlead.dev/removals"] ?? "").nodes).flat()).toHaveLength(1);
  await w.pass(11 * 60);
  expect(lease()?.metadata.annotations).toEqual({ "example.com/owner": "platform", ...ofLeader });
});

test("stores a deletion on the Lease before it deletes the Node, and deletes nothing if storing fails", async () => {
  const { w, lose, nodes, refuse, requests } = await setUp();
  lose("node-0");
  await w.pass(28);
  refuse("update leases");
  await w.pass(6);
  expect(nodes()).toHaveLength(10);
  refuse("nothing");
  await w.until(() => nodes().length === 9, "the deletion", 180);
  const at = requests.indexOf("delete nodes");
  expect(requests.slice(0, at).findLast((what) => !what.startsWith("create"))).toBe("update leases");
  expect(requests.lastIndexOf("delete nodes")).toBe(at);
});

test("stores deletions on the Lease of their controller during a leader migration", async () => {
  const { w, lose, lease, nodes } = await setUp("--enable-leader-migration=true");
  lose("node-0");
  await w.until(() => nodes().length === 9, "the deletion");
  const leasesWithRemovals = w.server.store
    .list("leases")
    .flatMap(({ metadata }) => (metadata.annotations?.["fairlead.dev/removals"] ? [metadata.name] : []));
  expect(leasesWithRemovals).toEqual(["cloud-provider-extraction-migration"]);
  expect(lease()?.metadata.annotations).toEqual(ofLeader);
});

test("keeps the removals on the main Lease until the shared Lease has them when leader migration begins", async () => {
  const { w, start, lose, lease, nodes } = await setUp();
  lose("node-0");
  await w.until(() => nodes().length === 9, "the deletion");
  await w.stop();
  const shared = "cloud-provider-extraction-migration";
  const spec = (holderIdentity: string) => ({ holderIdentity, leaseDurationSeconds: 3600 });
  // kube-controller-manager still holds the shared Lease.
  w.server.objects.create(leases, "kube-system", {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { name: shared, namespace: "kube-system" },
    spec: spec("kcm_1"),
  } as never);
  const removals = (name: string) =>
    w.server.store.get("leases", "kube-system", name)?.metadata.annotations?.["fairlead.dev/removals"];
  await start("--enable-leader-migration=true");
  await w.until(() => w.manager.leads(), "it to lead");
  await w.pass(10);
  w.crash();
  expect([removals(leaseName) !== undefined, removals(shared)]).toEqual([true, undefined]);
  await start("--enable-leader-migration=true");
  await w.pass(30);
  expect(w.manager.removals.count("nodes")).toBe(1);
  const held = w.server.store.get("leases", "kube-system", shared);
  w.server.objects.update(leases, "kube-system", shared, "", { ...held, spec: spec("") } as never);
  await w.until(() => removals(shared) !== undefined, "the record on the shared Lease");
  await w.pass(10);
  expect(lease()?.metadata.annotations).toEqual(ofLeader);
});

test("sends no additional request for the Lease while no object is removed", async () => {
  const { w, requests } = await setUp();
  requests.length = 0;
  await w.pass(60);
  // One renewal every five seconds.
  expect(requests.filter((what) => what.endsWith("leases"))).toHaveLength(12);
});

test("releases a whole hold with one Lease annotation, and reports the released objects", async () => {
  const { w, lose, nodes, annotateLease, lease, leaseEvents } = await setUp();
  lose("node-0", "node-1", "node-2", "node-3");
  await w.pass(300);
  expect(nodes()).toHaveLength(10);
  const [held = ""] = w.events("node-0");
  const command = /kubectl -n (\S+) annotate lease (\S+) fairlead\.dev\/release-hold=nodes/.exec(held);
  expect(command?.slice(1)).toEqual(["kube-system", leaseName]);
  annotateLease({ "fairlead.dev/release-hold": "nodes" });
  await w.until(() => nodes().length === 6, "the deletions", 180);
  expect(lease()?.metadata.annotations?.["fairlead.dev/release-hold"]).toBeUndefined();
  await w.pass(1);
  const released = leaseEvents().filter((event) => event.startsWith("HoldReleased"));
  expect(released).toHaveLength(1);
  expect(released[0]).toContain("4 nodes (node-0, node-1, node-2, node-3)");
  // The release does not apply to later losses.
  lose("node-4", "node-5", "node-6");
  await w.pass(300);
  expect(nodes()).toHaveLength(6);
});

test.each([
  ["node", 'must be nodes, load-balancers, routes, volumes or all, got "node"'],
  ["all", "--removal-limit holds no Nodes, load balancers, routes, volumes at the moment"],
])("reports a release without effect: %s", async (value, text) => {
  const { w, annotateLease, lease, leaseEvents } = await setUp();
  annotateLease({ "fairlead.dev/release-hold": value });
  await w.pass(10);
  expect(lease()?.metadata.annotations?.["fairlead.dev/release-hold"]).toBeUndefined();
  expect(leaseEvents().filter((event) => event.includes(text))).toHaveLength(1);
  expect(w.logged.filter((line) => line.includes("HoldReleaseIgnored"))).toHaveLength(1);
});

test("a replica reports a release on the Lease only while it leads", async () => {
  const { w, annotateLease, leaseEvents } = await setUp();
  const { faults } = w.server;
  const fail = (...resources: readonly string[]) => {
    faults.intercept = ({ method, url }) =>
      method !== "GET" && resources.some((resource) => url.includes(`/${resource}`))
        ? new Response("", { status: 503 })
        : undefined;
  };
  fail("events");
  annotateLease({ "fairlead.dev/release-hold": "all" });
  await w.pass(3);
  fail("events", "leases");
  await w.until(() => !w.manager.leads(), "it to stop leading", 60);
  fail("leases");
  await w.pass(60);
  expect(leaseEvents().filter((event) => event.includes("stopped leading"))).toHaveLength(1);
  expect(leaseEvents().filter((event) => event.includes("HoldReleaseIgnored"))).toEqual([]);
});

test("a deletion that fails for minutes after it was recorded counts towards the limit from the time it succeeds", async () => {
  const { w, lose, nodes } = await setUp();
  const deletedAt: number[] = [];
  w.server.onWrite(({ storage, type }) => {
    if (storage === "nodes" && type === "DELETED") deletedAt.push(w.clock.now());
  });
  w.kubeFault = (method) => (method === "DELETE" ? new Error("connection reset") : undefined);
  lose("node-0", "node-1");
  await w.until(() => w.manager.removals.count("nodes") === 2, "the record", 120);
  await w.pass(350);
  w.kubeFault = undefined;
  await w.until(() => nodes().length === 8, "the deletions", 200);
  lose("node-2", "node-3");
  await w.pass(250);
  expect(deletedAt).toHaveLength(2);
  await w.pass(600);
  expect(nodes()).toHaveLength(6);
});

test("deletes no Node while other annotations fill the Lease, keeps the Lease, and reports the missing space", async () => {
  const { w, lose, nodes, annotateLease, lease } = await setUp();
  annotateLease({ "example.com/large": "x".repeat(256 * 1024 - 50) });
  lose("node-0");
  await w.pass(300);
  expect(nodes()).toHaveLength(10);
  expect(w.events("node-0").join()).toContain(
    "The annotations of the Lease have no room for another removal of nodes",
  );
  const warnings = w.logged.filter((line) => line.includes("leave no room for 1 of the removals"));
  expect(warnings).toHaveLength(1);
  expect(w.logged.filter((line) => line.includes("Lost leadership"))).toEqual([]);
  expect(Object.keys(lease()?.metadata.annotations ?? {})).toEqual([
    ...Object.keys(ofLeader),
    "example.com/large",
  ]);
  annotateLease({ "example.com/large": "" });
  await w.until(() => nodes().length === 9, "the deletion", 400);
  expect(w.logged.filter((line) => line.includes("has room for all removals again"))).toHaveLength(1);
});

test.if(runsAllTests)(
  "a Node waits after 5,000 deletions within ten minutes, and its event states the reason",
  async () => {
    const { w, lose, nodes } = await setUp("--removal-limit=9999");
    w.manager.removals.note(
      "nodes",
      Array.from({ length: 5000 }, (_, at) => `node-uid-${at}`),
    );
    lose("node-0");
    await w.pass(300);
    expect(nodes()).toHaveLength(10);
    expect(w.events("node-0").join()).toContain("More than 5000 nodes were removed in the last 10 minutes");
    expect(w.manager.leads()).toBe(true);
    await w.until(() => nodes().length === 9, "the deletion", 700);
    expect(w.unexpectedErrors).toEqual([]);
  },
);

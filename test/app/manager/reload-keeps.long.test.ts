import { describe, expect, test } from "bun:test";
import { readFlags } from "../../../src/app/flags/read-flags.ts";
import { runsAllTests } from "../../../src/testing/breadth.ts";
import { configPath, flagsFile, ReloadingProcess } from "../../support/reloading-process.ts";
import { ServiceWorld } from "../../support/service-world.ts";

// A reload keeps leadership, caches, counters, and reports. Cloud state is proved again, as after a restart.

const routes = "--cluster-cidr=10.244.0.0/16";

const start = async (options: { readonly nodes?: number } = {}, ...flags: readonly string[]) => {
  const world = new ServiceWorld(options);
  for (const { metadata } of world.server.store.list("nodes")) world.setReady(metadata.name, "True");
  const process = new ReloadingProcess({
    world,
    contents: { [configPath]: flagsFile("concurrent-service-syncs: 8", ...flags) },
    args: [routes, `--config=${configPath}`],
  });
  await process.untilLeading();
  return { world, process };
};

test("a reload keeps the Lease: no release, no election, no other holder, and renewals during the drain [F69]", async () => {
  const { world, process } = await start();
  world.create("web");
  await world.until(() => world.addressesOf("web").length === 1, "an address");
  const { renewTime: _, ...before } = process.lease();
  world.cloud.faults.add({ kind: "hang", operation: "POST /balancers" });
  world.create("shop");
  await world.pass(1);
  process.forget();
  process.hangUp(configPath, flagsFile("concurrent-service-syncs: 9", "drain-timeout: 10s"));
  await world.pass(9);
  // The drain lasts for ten seconds; the Lease is renewed every two.
  const renewals = process.kube.filter((what) => what.startsWith("PUT") && what.includes("/leases/"));
  expect(renewals.length).toBeGreaterThanOrEqual(4);
  await world.pass(60);
  const { renewTime, ...after } = process.lease();
  expect(after).toEqual(before);
  expect(world.clock.now() - Date.parse(String(renewTime))).toBeLessThan(3000);
  expect(process.linesWith("Acquired leadership")).toHaveLength(1);
  expect(process.linesWith("Released the Lease")).toEqual([]);
  const elections = world.server.store.list("events").filter(({ reason }) => reason === "LeaderElection");
  expect(elections.map(({ message }) => String(message).split(" ").slice(1).join(" "))).toEqual([
    "became leader",
  ]);
  await process.end();
});

test("a reload keeps both Leases of a leader migration, and drains the controllers of both", async () => {
  const { world, process } = await start({}, "enable-leader-migration: true");
  const leases = () =>
    world.server.store.list("leases", "kube-system").map(({ metadata, spec }) => {
      const { renewTime: _, ...rest } = spec ?? {};
      return [metadata.name, rest];
    });
  await world.until(() => process.linesWith("Acquired leadership").length === 2, "both Leases");
  const before = leases();
  expect(before).toHaveLength(2);
  world.cloud.faults.add({ kind: "slow", operation: "POST /balancers", milliseconds: 5000 });
  world.create("web");
  await world.until(() => process.cloud.includes("POST /v1/balancers"), "the request");
  process.hangUp(configPath, flagsFile("concurrent-service-syncs: 9", "enable-leader-migration: true"));
  await world.pass(3);
  expect(process.linesWith("Applied the changed configuration")).toEqual([]);
  await world.pass(10);
  expect(process.linesWith("Applied the changed configuration")).toHaveLength(1);
  expect(leases()).toEqual(before);
  await world.until(() => world.addressesOf("web").length === 1, "an address");
  await process.end();
});

describe("a reload", () => {
  const settled = async () => {
    const { world, process } = await start({ nodes: 20 });
    for (const name of ["web", "shop"]) world.create(name);
    await world.until(() => world.owners().length === 2, "the load balancers");
    await world.pass(30);
    process.forget();
    return { world, process };
  };
  const reload = async (changed: string): Promise<ReloadingProcess> => {
    const { world, process } = await settled();
    const others = changed.startsWith("concurrent-service") ? [] : ["concurrent-service-syncs: 8"];
    process.hangUp(configPath, flagsFile(...others, changed));
    await world.pass(20);
    expect(process.linesWith("Applied the changed configuration: ")).toHaveLength(1);
    return process;
  };
  /** The cloud requests that a process sends when it takes over from the first one. */
  const afterRestart = async (): Promise<readonly string[]> => {
    const { world, process } = await settled();
    await process.end();
    const next = new ReloadingProcess({
      world,
      contents: { [configPath]: flagsFile("concurrent-service-syncs: 9") },
      args: [routes, `--config=${configPath}`],
    });
    await next.untilLeading();
    await world.pass(20);
    await next.end();
    return next.cloud;
  };

  test.each([
    ["concurrent-service-syncs: 9"],
    ["concurrent-node-syncs: 9"],
    ["drain-timeout: 20s"],
    ["label-policy: { example.com/a: report }"],
    ["node-deletion: observe"],
    ["remove-shutdown-taint: when-ready"],
    ["out-of-service-taint: enforce"],
    ["absence-confirmation: 40s"],
    ["removal-limit: 15%"],
  ])(
    "a reload sends the cloud at most the requests of a restart, and the API server only Lease renewals: %s [F69]",
    async (changed) => {
      const restart = (await afterRestart()).toSorted();
      const process = await reload(changed);
      expect(restart.length).toBeGreaterThan(0);
      expect(process.cloud.toSorted()).toEqual(restart);
      expect(process.kube.filter((what) => !what.includes("/leases/cloud-controller-manager"))).toEqual([]);
      await process.end();
    },
  );

  test("a reload of the log verbosity sends no cloud request, and only Lease renewals to the API server [F69]", async () => {
    const process = await reload("v: 2");
    expect(process.cloud).toEqual([]);
    expect(process.kube.filter((what) => !what.includes("/leases/cloud-controller-manager"))).toEqual([]);
    await process.end();
  });

  test.if(runsAllTests)(
    "a reload relists and rewatches nothing in a cluster of 5,000 Nodes",
    async () => {
      // Without the node controller, which would first write all Nodes.
      const { world, process } = await start({ nodes: 5000 }, "controllers: [service, cloud-node-lifecycle]");
      await world.pass(30);
      const nodes = async () => JSON.parse(await process.page("/debug/state")).caches.nodes;
      expect(await nodes()).toMatchObject({ isSynced: true, objects: 5000 });
      process.forget();
      const changed = ["concurrent-service-syncs: 9", "concurrent-node-syncs: 7"];
      process.hangUp(configPath, flagsFile("controllers: [service, cloud-node-lifecycle]", ...changed));
      await world.pass(60);
      expect(process.linesWith("Applied the changed configuration: ")).toHaveLength(2);
      expect(process.listings).toEqual([]);
      expect(process.cloud.filter((what) => !what.startsWith("GET "))).toEqual([]);
      expect(await nodes()).toMatchObject({ isSynced: true, objects: 5000 });
      await process.end();
    },
    30_000,
  );
});

test("logs suppressed warnings of a burst when the process ends, even after a reload", async () => {
  const { world, process } = await start({ nodes: 10 });
  await world.pass(60);
  process.hangUp(configPath, flagsFile("concurrent-service-syncs: 9"));
  await world.pass(10);
  for (let index = 0; index < 8; index += 1) {
    world.cloud.machines.remove(`node-${index}`);
    world.setReady(`node-${index}`, "Unknown");
  }
  await world.until(() => process.linesWith("MassDeletionHeld").length === 5, "the hold", 300);
  await process.end();
  expect(process.linesWith("3 more Nodes have the same problem")).toHaveLength(1);
});

test("a reload does not relist the kubelets' certificate requests", async () => {
  const world = new ServiceWorld({ controllers: "kubelet-serving-csr" });
  const metadata = { resourceVersion: "5", annotations: { "k8s.io/initial-events-end": "true" } };
  const bookmark = JSON.stringify({ type: "BOOKMARK", object: { metadata } });
  world.readFault = (path) =>
    path.endsWith("/certificatesigningrequests")
      ? new Response(
          new ReadableStream<Uint8Array>({
            start: (stream) => stream.enqueue(new TextEncoder().encode(`${bookmark}\n`)),
          }),
        )
      : undefined;
  const listings = () => world.read.filter((path) => path.endsWith("/certificatesigningrequests")).length;
  await world.start();
  await world.pass(20);
  expect(listings()).toBe(1);
  const { flags, ...settings } = readFlags(["--master=http://test-api-server", "--leader-elect=false"]);
  const applied = world.manager.prepareReload({
    settings: { ...settings, flags: { ...flags, "concurrent-node-syncs": 9 } },
    affectsControllers: true,
  })();
  await world.pass(20);
  await applied;
  expect(listings()).toBe(1);
  await world.stop();
});

test("a reload delays the deletion of a Node, because it discards the evidence of absence", async () => {
  const { world, process } = await start({ nodes: 10 });
  await world.pass(60);
  world.cloud.machines.remove("node-3");
  world.setReady("node-3", "Unknown");
  const isGone = () => world.server.store.get("nodes", undefined, "node-3") === undefined;
  for (let turn = 0; turn < 20; turn += 1) {
    await world.pass(6);
    process.hangUp(configPath, flagsFile(`concurrent-service-syncs: ${9 + turn}`));
  }
  await world.pass(20);
  expect(isGone()).toBe(false);
  await world.until(isGone, "the deletion", 200);
  await process.end();
});

test("changed credentials discard the evidence of absence, and cost one listing", async () => {
  const own = "/etc/cloud.conf";
  const world = new ServiceWorld({ nodes: 10 });
  const args = [routes, `--cloud-config=${own}`];
  const process = new ReloadingProcess({ world, contents: { [own]: "token = one" }, args });
  await process.untilLeading();
  for (const { metadata } of world.server.store.list("nodes")) world.setReady(metadata.name, "True");
  await world.pass(60);
  world.cloud.machines.remove("node-3");
  world.setReady("node-3", "Unknown");
  await world.pass(15);
  const evidence = async () =>
    JSON.parse(await process.page("/debug/state")).evidenceOfAbsence.first as readonly {
      readonly node: string;
      readonly notReadyForSeconds: number;
      readonly proofs: readonly unknown[];
    }[];
  const [before] = await evidence();
  expect(before?.proofs.length).toBeGreaterThan(0);
  process.forget();
  process.hangUp(own, "token = two");
  await world.pass(1);
  expect(
    process.cloud.filter((what) => what.startsWith("GET /v1/machines?") && !what.includes("ids=")),
  ).toHaveLength(1);
  const [after] = await evidence();
  expect(after?.notReadyForSeconds).toBeLessThan(before?.notReadyForSeconds ?? 0);
  expect(process.listings).toEqual([]);
  await world.until(
    () => world.server.store.get("nodes", undefined, "node-3") === undefined,
    "the deletion",
    200,
  );
  await process.end();
});

test("a reload keeps all metric counters and the start time of the manager", async () => {
  const { world, process } = await start();
  world.create("web");
  await world.until(() => world.addressesOf("web").length === 1, "an address");
  const names = [
    "rest_client_requests_total",
    "fairlead_mutations_total",
    "fairlead_cloud_requests_total",
    "workqueue_adds_total",
    "route_controller_route_sync_total",
  ];
  const read = () => Promise.all(names.map((name) => process.metric(name)));
  const [before, statusz] = [await read(), await process.page("/statusz")];
  expect(Math.min(...before)).toBeGreaterThan(0);
  const journal = JSON.parse(await process.page("/debug/state")).journal.count;
  for (const syncs of [9, 10]) await process.write(`concurrent-service-syncs: ${syncs}`);
  const after = await read();
  expect(after.every((value, index) => value >= (before[index] ?? 0))).toBe(true);
  expect(JSON.parse(await process.page("/debug/state")).journal.count).toBe(journal);
  const startedIn = (page: string) => /Started: (.*)/.exec(page)?.[1];
  expect(startedIn(await process.page("/statusz"))).toBe(startedIn(statusz) as string);
  await process.end();
});

test("a reload repeats a lasting problem neither as an event nor in the log", async () => {
  const { world, process } = await start({ nodes: 2 });
  world.create("wrong", { annotations: { "balancer.fake.example/algorithm": "fastest" } });
  world.cloud.faults.add({ kind: "status", operation: "POST /balancers", status: 402, calls: 100 });
  world.create("refused");
  await world.pass(60);
  const aboutServices = () =>
    process.lines.filter(
      (line) => /service="?default\/(wrong|refused)/.test(line) && !line.includes("WaitingForCloud"),
    ).length;
  // The possible effect of the rejected creation is proved again after each reload, and the wait has an event.
  const warnings = () =>
    [...world.events("wrong"), ...world.events("refused")].filter((event) => event.startsWith("Warning "));
  const [events, lines] = [warnings(), aboutServices()];
  expect(lines).toBeGreaterThanOrEqual(2);
  // The rejected creation is retried during this time; neither its event nor its log line is repeated.
  for (const syncs of [9, 10, 11]) await process.write(`concurrent-service-syncs: ${syncs}`);
  expect(warnings()).toEqual(events);
  expect(aboutServices()).toBe(lines);
  expect(process.linesWith("Started fake-cloud-controller-manager")).toHaveLength(1);
  await process.end();
});

test.if(runsAllTests)("fifty reloads leave no timer, listener or connection behind", async () => {
  const own = "/etc/cloud.conf";
  const world = new ServiceWorld({ nodes: 5 });
  const args = [routes, `--cloud-config=${own}`, `--config=${configPath}`];
  const contents = { [own]: "token = t0", [configPath]: flagsFile("concurrent-service-syncs: 8") };
  const process = new ReloadingProcess({ world, contents, args });
  world.create("web");
  await world.until(() => world.addressesOf("web").length === 1, "an address");
  const reload = async (turn: number): Promise<void> => {
    process.disk.put(own, `token = t${turn}`);
    process.hangUp(configPath, flagsFile(`concurrent-service-syncs: ${8 + (turn % 2)}`));
    await world.pass(7);
  };
  const { heapStats } = await import("bun:jsc");
  const measure = () => {
    Bun.gc(true);
    const { AbortSignal: signals = 0, Timeout: _ } = heapStats().objectTypeCounts;
    return { signals, timers: world.clock.pending };
  };
  for (let turn = 1; turn <= 5; turn += 1) await reload(turn);
  const before = measure();
  for (let turn = 6; turn <= 55; turn += 1) await reload(turn);
  const after = measure();
  expect(process.linesWith("Applied the changed configuration: token: changed")).toHaveLength(55);
  expect(after.timers).toBeLessThanOrEqual(before.timers + 2);
  expect(after.signals - before.signals).toBeLessThan(50);
  expect(JSON.parse(await process.page("/debug/state")).accounts).toHaveLength(1);
  expect(await process.end()).toBe(0);
  expect(world.clock.pending).toBeLessThan(5);
});

import { afterEach, expect, test } from "bun:test";
import { asTransport as cloudTransport } from "#ccm/testing";
import { fake } from "../../../providers/fake/index.ts";
import { FakeCloud } from "../../../providers/fake/simulator/fake-cloud.ts";
import { readFlags } from "../../../src/app/flags/read-flags.ts";
import { createManager } from "../../../src/app/manager/manager.ts";
import { type Milliseconds, minutes, seconds } from "../../../src/core/brand.ts";
import type { Node } from "../../../src/kube/objects.ts";
import { sleep } from "../../../src/platform/clock.ts";
import { seededRandom } from "../../../src/platform/random.ts";
import type { Transport } from "../../../src/platform/transport.ts";
import type { AnyProvider } from "../../../src/provider/provider.ts";
import { Draining } from "../../../src/runtime/draining.ts";
import { createLog } from "../../../src/telemetry/log.ts";
import { ApiServer } from "../../../src/testing/apiserver/api-server.ts";
import { asTransport } from "../../../src/testing/apiserver/as-transport.ts";
import { Kubelets } from "../../../src/testing/apiserver/kubelet/kubelets.ts";
import { resourceNamed } from "../../../src/testing/apiserver/objects/resource-table.ts";
import { VirtualClock } from "../../../src/testing/virtual-time/virtual-clock.ts";
import { followEvents } from "../../support/events-in-order.ts";

/** One cluster and two accounts of one cloud: the recipe in docs/operations.md. */
const openWorld = () => {
  const clock = new VirtualClock();
  const server = new ApiServer({ clock, random: seededRandom(1) });
  const machines = new Set<string>();
  /** Every host that received a request. */
  const origins = new Set<string>();
  const kubelets = new Kubelets({
    server,
    clock,
    random: seededRandom(2),
    isMachineUp: (name) => machines.has(name),
  });
  const after =
    (pause: Milliseconds, send: Transport): Transport =>
    async (request, signal) => {
      origins.add(new URL(request.url).origin);
      await sleep(clock, pause, signal);
      return send(request, signal);
    };
  const ends: (() => Promise<void>)[] = [];
  const manager = async (name: string, ...flags: readonly string[]) => {
    const cloud = new FakeCloud({ clock });
    const lines: string[] = [];
    const stop = new AbortController();
    const settings = readFlags([
      "--master=http://test-api-server",
      `--node-selector=account=${name}`,
      `--leader-elect-resource-name=ccm-${name}`,
      `--cluster-name=${name}`,
      "--controllers=*,-service,-node-route",
      ...flags,
    ]);
    expect(settings.problems).toEqual([]);
    const files = {
      read: () => Promise.reject(Object.assign(new Error("none"), { code: "ENOENT" })),
      version: () => Promise.resolve(undefined),
      write: () => Promise.resolve(),
      run: () => Promise.reject(new Error("none")),
    };
    const made = await createManager(
      {
        provider: fake as unknown as AnyProvider,
        settings,
        log: createLog({ format: "text", verbosity: 0, clock, write: (line) => lines.push(line) }),
        platform: {
          clock,
          random: seededRandom(name.length),
          files,
          transport: after(seconds(0.005), asTransport(server)),
          cloudTransport: after(seconds(0.02), cloudTransport(cloud)),
          environment: { HOSTNAME: name },
        },
      },
      stop.signal,
    );
    const ended = made.run();
    const end = async () => {
      stop.abort(new Draining("asked to stop", new AbortController().signal));
      await clock.advance(seconds(5));
      await ended;
    };
    ends.push(end);
    return { made, cloud, lines, end };
  };
  const join = (cloud: FakeCloud, name: string, account: string) => {
    cloud.machines.add(name);
    machines.add(name);
    kubelets.join({ name, labels: { account } });
  };
  const node = (name: string) => server.store.get("nodes", "", name) as unknown as Node | undefined;
  const leaves = (name: string) => machines.delete(name);
  const holder = (lease: string) =>
    String(server.store.get("leases", "kube-system", lease)?.spec?.["holderIdentity"] ?? "");
  return { clock, server, origins, manager, join, node, leaves, holder, ends, kubelets };
};

let world: ReturnType<typeof openWorld> | undefined;
afterEach(async () => {
  for (const end of world?.ends ?? []) await end();
  world?.kubelets.stop();
});

test("two managers for two accounts of one cloud both lead, and each changes only its own Nodes [N15 F12]", async () => {
  world = openWorld();
  const { clock, join, node, leaves, holder } = world;
  const east = await world.manager("east");
  const west = await world.manager("western");
  join(east.cloud, "east-1", "east");
  join(west.cloud, "west-1", "western");
  const isInitialized = (name: string) => node(name)?.spec.providerID !== undefined;
  await clock.until(() => isInitialized("east-1") && isInitialized("west-1"), minutes(2), "both Nodes");
  expect([holder("ccm-east"), holder("ccm-western")]).toEqual([
    expect.stringMatching(/^east_/),
    expect.stringMatching(/^western_/),
  ]);

  // East's machine is silent but exists. West has no machine with its id, but must not delete its Node.
  leaves("east-1");
  await clock.advance(minutes(30));
  expect(node("east-1")).toBeDefined();
  expect(west.made.journal.entries().filter(({ object }) => object.includes("east"))).toEqual([]);

  // A Node whose machine in west is gone is deleted.
  west.cloud.machines.remove("west-1");
  leaves("west-1");
  await clock.until(
    () => node("west-1") === undefined,
    minutes(30),
    "the Node of the machine that is gone to go",
  );
});

test("a clean shutdown records the end of leadership and releases the Lease [F67]", async () => {
  world = openWorld();
  const { clock, server, holder } = world;
  const eventsInOrder = followEvents(server);
  const one = await world.manager("east");
  await clock.until(() => holder("ccm-east") !== "", seconds(10), "a leader");
  expect(one.made.metrics.text()).toContain('leader_election_master_status{name="ccm-east"} 1');
  const identity = holder("ccm-east");
  await one.end();
  world.ends.length = 0;
  expect(holder("ccm-east")).toBe("");
  expect(one.made.metrics.text()).toContain('leader_election_master_status{name="ccm-east"} 0');
  const events = eventsInOrder() as unknown as readonly {
    readonly reason: string;
    readonly message: string;
    readonly involvedObject: { readonly kind: string; readonly name: string };
  }[];
  expect(
    events.map(({ reason, message, involvedObject }) => [
      reason,
      message,
      involvedObject.kind,
      involvedObject.name,
    ]),
  ).toEqual([
    ["LeaderElection", `${identity} became leader`, "Lease", "ccm-east"],
    ["LeaderElection", `${identity} stopped leading`, "Lease", "ccm-east"],
  ]);
});

test("leader migration runs migrated controllers under the shared Lease, and all other controllers under the main Lease [F68]", async () => {
  world = openWorld();
  const { clock, server, holder, join, node } = world;
  const shared = "cloud-provider-extraction-migration";
  // kube-controller-manager still holds the shared Lease.
  server.objects.create(resourceNamed("leases"), "kube-system", {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { name: shared, namespace: "kube-system" },
    spec: { holderIdentity: "kcm_1", leaseDurationSeconds: 3600 },
  } as never);
  const { made, cloud, lines } = await world.manager("east", "--enable-leader-migration");
  join(cloud, "east-1", "east");
  await clock.until(() => node("east-1")?.spec.providerID !== undefined, minutes(2), "the Node");
  expect(holder("ccm-east")).toStartWith("east_");
  expect(holder(shared)).toBe("kcm_1");
  // The machine is deleted. Only the holder of the shared Lease may delete its Node.
  cloud.machines.remove("east-1");
  world.leaves("east-1");
  await clock.advance(minutes(30));
  expect(node("east-1")).toBeDefined();
  const lease = server.store.get("leases", "kube-system", shared);
  server.objects.update(resourceNamed("leases"), "kube-system", shared, "", {
    ...lease,
    spec: { holderIdentity: "", leaseDurationSeconds: 1 },
  } as never);
  await clock.until(() => node("east-1") === undefined, minutes(30), "the Node to go after the hand-over");
  expect(holder(shared)).toBe(holder("ccm-east"));
  expect(lines.join("")).toContain("Acquired leadership");
  expect(made.leadershipHealth()).toBeUndefined();
});

test("a manager outside its cluster contacts only its cluster and its cloud [F74]", async () => {
  const hosted = [openWorld(), openWorld()];
  for (const { manager, join, clock, node, holder, origins } of hosted) {
    // Both use the same names, and the manager has no files, service account or machine of the cluster.
    const { cloud } = await manager("tenant");
    join(cloud, "node-1", "tenant");
    await clock.until(() => node("node-1")?.spec.providerID !== undefined, minutes(2), "the Node");
    expect(holder("ccm-tenant")).toStartWith("tenant_");
    expect([...origins].toSorted()).toEqual(["http://127.0.0.1:8620", "http://test-api-server"]);
  }
  for (const { ends, kubelets } of hosted) {
    for (const end of ends) await end();
    kubelets.stop();
  }
});

// Two hundred Services at once, Nodes that join, types that change back and forth, and a manager that is killed in the
// middle of orders to the cloud: whatever happens on the way, in the end there is one balancer for each, and then none.

import { expect, test } from "bun:test";
import { processCost } from "../../scripts/bench/process-cost.ts";
import { milliseconds } from "../../src/core/brand.ts";
import { seededRandom } from "../../src/platform/random.ts";
import { balancedServices, ownerOf } from "./rig/balanced-services.ts";
import { openCluster } from "./rig/cluster.ts";
import { inParallel } from "./rig/in-parallel.ts";
import type { KeptProcess } from "./rig/kept-process.ts";
import { watchCloud } from "./rig/watched-cloud.ts";

const serviceCount = 200;
const nodeCount = 1000;
const targetCount = 20;
/** What a manager of a thousand Nodes and two hundred Services may hold at any time. */
const mostMiB = 200;
/** Nothing more comes when for so long nothing came. */
const quietMs = 2000;

const flags = [
  "--leader-elect-lease-duration=3s",
  "--leader-elect-renew-deadline=2s",
  "--leader-elect-retry-period=500ms",
];

const namesOf = (prefix: string, count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}-${index}`);

test("200 Services through kills, joining Nodes and changing types: no orphan, no duplicate, nothing left [F26 F27 F51 S8]", async () => {
  const seed = Number(process.env["FAIRLEAD_STORM_SEED"] ?? Date.now() % 1_000_000);
  console.log(`seed ${seed}; FAIRLEAD_STORM_SEED=${seed} strikes at the same orders again`);
  const random = seededRandom(seed);
  const between = (least: number, most: number): number =>
    least + Math.floor(random.fraction() * (most - least + 1));
  await using cluster = await openCluster();
  const { cloud, until } = cluster;
  cloud.latency = milliseconds(20);
  const services = balancedServices(cluster);
  const watched = watchCloud(cloud);
  cloud.balancers.create({ name: "not-ours", labels: { cluster: "another" } });
  const ours = () => cloud.balancers.list().filter(({ name }) => name !== "not-ours");

  let manager: KeptProcess;
  let peakMiB = 0;
  const weigh = (): void => {
    peakMiB = Math.max(peakMiB, processCost(manager.pid)?.peakMiB ?? 0);
  };
  let killed = 0;
  const kill = (): void => {
    weigh();
    manager.signal("SIGKILL");
    manager = cluster.manager({ flags });
    killed += 1;
  };
  /** Until the cloud was left alone for a while. */
  const quiet = async (): Promise<void> => {
    let [seen, since] = [cloud.seen.length, performance.now()];
    await until("the cloud to be left alone", () => {
      if (cloud.seen.length !== seen) [seen, since] = [cloud.seen.length, performance.now()];
      return performance.now() - since > quietMs;
    });
    weigh();
  };
  /** Each has one balancer with all targets, and shows its address. */
  const settled = (targets: number): Promise<unknown> =>
    until(
      `all to be served with ${targets} targets`,
      async () => {
        const balancers = new Map(ours().map((balancer) => [ownerOf(balancer), balancer]));
        const all = await services.all();
        return (
          ours().length === serviceCount &&
          balancers.size === serviceCount &&
          all.length === serviceCount &&
          all.every(({ metadata: { uid }, status, spec }) => {
            const there = balancers.get(uid);
            const shown = status.loadBalancer?.ingress?.map(({ ip }) => ip).join();
            const isRight = there?.targets.length === targets && there.listeners.length === 1;
            return isRight && shown === there.ip && spec.type === "LoadBalancer";
          })
        );
      },
      { seconds: 90, everyMs: 200 },
    );
  const names = namesOf("web", serviceCount);
  const restless = names.filter((_, index) => index % 10 === 0);
  const retype = (type: string): Promise<void> =>
    inParallel(restless, 8, (name) => services.edit(name, { spec: { type } }));
  const backAndForth = async (times: number): Promise<void> => {
    for (let time = 0; time < times; time += 1) {
      await retype("ClusterIP");
      await retype("LoadBalancer");
    }
  };

  await inParallel(namesOf("node", nodeCount), 32, (name) =>
    services.target(name, { isTarget: Number(name.slice("node-".length)) < targetCount }),
  );
  manager = cluster.manager({ flags });
  await until("the manager to run", () => manager.output().includes(" runs"));

  // All at once, killed among the orders that make them.
  watched.strikeAt(between(1, serviceCount - 1), kill);
  await inParallel(names, 32, (name) => services.create(name));
  await settled(targetCount);
  expect(killed).toBe(1);
  await quiet();
  expect(watched.orders).toHaveLength(serviceCount);

  // One Node more while a tenth of them change their type: one order for each of the others.
  const calm = new Set(names.filter((name) => !restless.includes(name)));
  const calmBalancers = new Map(
    (await services.all())
      .filter(({ metadata }) => calm.has(metadata.name))
      .flatMap((service) => services.balancersOf(service).map(({ id }) => [`/balancers/${id}`, 0])),
  );
  expect(calmBalancers.size).toBe(calm.size);
  const before = watched.orders.length;
  await Promise.all([services.target("late-1"), backAndForth(3)]);
  await settled(targetCount + 1);
  await quiet();
  for (const { method, path } of watched.orders.slice(before)) {
    const count = calmBalancers.get(path);
    if (count === undefined) continue;
    expect(method).toBe("PATCH");
    calmBalancers.set(path, count + 1);
  }
  expect([...calmBalancers.values()].filter((count) => count !== 1)).toEqual([]);

  // Once more, killed in the middle of it.
  watched.strikeAt(between(1, serviceCount - restless.length), kill);
  await Promise.all([services.target("late-2"), backAndForth(3)]);
  await settled(targetCount + 2);
  expect(killed).toBe(2);
  await quiet();

  // Settled: an ordinary restart changes nothing, in the cloud or on any Service.
  const [orders, checks] = [watched.orders.length, cloud.counts()["GET /balancers"] ?? 0];
  const versions = async () => (await services.all()).map(({ metadata }) => metadata.resourceVersion);
  const asTheyWere = await versions();
  await manager.stop();
  manager = cluster.manager({ flags });
  await until("a look at all balancers", () => (cloud.counts()["GET /balancers"] ?? 0) > checks);
  await quiet();
  expect(watched.orders.slice(orders)).toEqual([]);
  expect(await versions()).toEqual(asTheyWere);

  // All deleted, killed in the middle of that.
  watched.strikeAt(between(1, serviceCount - 1), kill);
  await inParallel(names, 32, (name) => services.delete(name));
  await until("all to be gone", async () => ours().length === 0 && (await services.all()).length === 0, {
    seconds: 90,
    everyMs: 200,
  });
  expect(killed).toBe(3);
  await quiet();
  expect(cloud.balancers.list().map(({ name }) => name)).toEqual(["not-ours"]);
  console.log(
    `peak memory ${peakMiB.toFixed(0)} MiB, ${watched.orders.length} orders, ${cloud.seen.length} requests`,
  );
  expect(peakMiB).toBeGreaterThan(0);
  expect(peakMiB).toBeLessThan(mostMiB);
}, 180_000);

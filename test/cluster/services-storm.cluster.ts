// 200 Services at once, joining Nodes, types that change back and forth, and a manager that is killed in the middle of cloud
// requests. Each Service must end up with exactly one load balancer, and with none after its deletion.

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
/** Memory limit of the manager with a thousand Nodes and two hundred Services. */
const maxMiB = 200;
/** Time without a request after which no more are expected. */
const quietMs = 2000;

const flags = [
  "--leader-elect-lease-duration=3s",
  "--leader-elect-renew-deadline=2s",
  "--leader-elect-retry-period=500ms",
];

const namesOf = (prefix: string, count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}-${index}`);

test("200 Services get one load balancer each, and none after deletion, despite kills, joining Nodes and type changes [F26 F27 F51 S8]", async () => {
  const seed = Number(process.env["FAIRLEAD_STORM_SEED"] ?? Date.now() % 1_000_000);
  console.log(`seed ${seed}; FAIRLEAD_STORM_SEED=${seed} kills the manager at the same requests again`);
  const random = seededRandom(seed);
  const between = (min: number, max: number): number => min + Math.floor(random.fraction() * (max - min + 1));
  await using cluster = await openCluster();
  const { cloud, until } = cluster;
  cloud.latency = milliseconds(20);
  const services = balancedServices(cluster);
  const watched = watchCloud(cloud);
  cloud.balancers.create({ name: "not-ours", labels: { cluster: "another" } });
  const managed = () => cloud.balancers.list().filter(({ name }) => name !== "not-ours");

  let manager: KeptProcess;
  let peakMiB = 0;
  const recordMemory = (): void => {
    peakMiB = Math.max(peakMiB, processCost(manager.pid)?.peakMiB ?? 0);
  };
  let killed = 0;
  const kill = (): void => {
    recordMemory();
    manager.signal("SIGKILL");
    manager = cluster.manager({ flags });
    killed += 1;
  };
  /** Waits until no cloud requests arrive. */
  const untilQuiet = async (): Promise<void> => {
    let [seen, since] = [cloud.seen.length, performance.now()];
    await until("an end of cloud requests", () => {
      if (cloud.seen.length !== seen) [seen, since] = [cloud.seen.length, performance.now()];
      return performance.now() - since > quietMs;
    });
    recordMemory();
  };
  /** Waits until each Service has one load balancer with all targets, and its address. */
  const converged = (targets: number): Promise<unknown> =>
    until(
      `all Services to have ${targets} targets`,
      async () => {
        const balancers = new Map(managed().map((balancer) => [ownerOf(balancer), balancer]));
        const all = await services.all();
        return (
          managed().length === serviceCount &&
          balancers.size === serviceCount &&
          all.length === serviceCount &&
          all.every(({ metadata: { uid }, status, spec }) => {
            const balancer = balancers.get(uid);
            const shown = status.loadBalancer?.ingress?.map(({ ip }) => ip).join();
            const isRight = balancer?.targets.length === targets && balancer.listeners.length === 1;
            return isRight && shown === balancer.ip && spec.type === "LoadBalancer";
          })
        );
      },
      { everyMs: 200 },
    );
  const names = namesOf("web", serviceCount);
  const changing = names.filter((_, index) => index % 10 === 0);
  const changeType = (type: string): Promise<void> =>
    inParallel(changing, 8, (name) => services.edit(name, { spec: { type } }));
  const changeTypes = async (times: number): Promise<void> => {
    for (let time = 0; time < times; time += 1) {
      await changeType("ClusterIP");
      await changeType("LoadBalancer");
    }
  };

  await inParallel(namesOf("node", nodeCount), 32, (name) =>
    services.target(name, { isTarget: Number(name.slice("node-".length)) < targetCount }),
  );
  manager = cluster.manager({ flags });
  await until("All Services are created at once; the manager is killed during the creations.", () =>
    manager.output().includes("Started fake-cloud-controller-manager"),
  );

  // All created at once; the manager is killed during the creations.
  watched.interruptAt(between(1, serviceCount - 1), kill);
  await inParallel(names, 32, (name) => services.create(name));
  await converged(targetCount);
  expect(killed).toBe(1);
  await untilQuiet();
  expect(watched.changes).toHaveLength(serviceCount);

  // Another Node joins while a tenth of the Services change their type: one request for each of the others.
  const stable = new Set(names.filter((name) => !changing.includes(name)));
  const stableBalancers = new Map(
    (await services.all())
      .filter(({ metadata }) => stable.has(metadata.name))
      .flatMap((service) => services.balancersOf(service).map(({ id }) => [`/balancers/${id}`, 0])),
  );
  expect(stableBalancers.size).toBe(stable.size);
  const changesBefore = watched.changes.length;
  await Promise.all([services.target("late-1"), changeTypes(3)]);
  await converged(targetCount + 1);
  await untilQuiet();
  for (const { method, path } of watched.changes.slice(changesBefore)) {
    const count = stableBalancers.get(path);
    if (count === undefined) continue;
    expect(method).toBe("PATCH");
    stableBalancers.set(path, count + 1);
  }
  expect([...stableBalancers.values()].filter((count) => count !== 1)).toEqual([]);

  // Repeated, with a kill during the changes.
  watched.interruptAt(between(1, serviceCount - changing.length), kill);
  await Promise.all([services.target("late-2"), changeTypes(3)]);
  await converged(targetCount + 2);
  expect(killed).toBe(2);
  await untilQuiet();

  // A restart changes neither the cloud nor any Service.
  const [changes, listings] = [watched.changes.length, cloud.counts()["GET /balancers"] ?? 0];
  const versions = async () => (await services.all()).map(({ metadata }) => metadata.resourceVersion);
  const versionsBefore = await versions();
  await manager.stop();
  manager = cluster.manager({ flags });
  await until("a listing of all load balancers", () => (cloud.counts()["GET /balancers"] ?? 0) > listings);
  await untilQuiet();
  expect(watched.changes.slice(changes)).toEqual([]);
  expect(await versions()).toEqual(versionsBefore);

  // All Services are deleted; the manager is killed during the deletions.
  watched.interruptAt(between(1, serviceCount - 1), kill);
  await inParallel(names, 32, (name) => services.delete(name));
  await until(
    "all Services and load balancers to be deleted",
    async () => managed().length === 0 && (await services.all()).length === 0,
    { everyMs: 200 },
  );
  expect(killed).toBe(3);
  await untilQuiet();
  expect(cloud.balancers.list().map(({ name }) => name)).toEqual(["not-ours"]);
  console.log(
    `peak memory ${peakMiB.toFixed(0)} MiB, ${watched.changes.length} cloud changes, ${cloud.seen.length} requests`,
  );
  expect(peakMiB).toBeGreaterThan(0);
  expect(peakMiB).toBeLessThan(maxMiB);
});

// Three replicas of the previous release are replaced by this version one after another, and back again,
// on a settled cluster and during changes.

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { previousVariable } from "../../scripts/previous-release.ts";
import { type BalancedServices, balancedServices } from "./rig/balanced-services.ts";
import { type Cluster, openCluster } from "./rig/cluster.ts";
import { type ControlPlane, startControlPlane } from "./rig/control-plane.ts";
import { Replicas } from "./rig/replicas.ts";

const previous = process.env[previousVariable];
const current = process.env["FAIRLEAD_TEST_EXECUTABLE"] ?? "";
if (previous === undefined)
  console.log("The upgrade tests are skipped: this clone has no commit of the previous release.");

let plane: ControlPlane;
let cluster: Cluster;
let services: BalancedServices;
let replicas: Replicas;
beforeEach(async () => {
  plane = await startControlPlane({ audit: true });
  cluster = await openCluster(plane.kubeconfig);
  services = balancedServices(cluster);
  const flags = [`--config-set=endpoint=${cluster.endpoint}`, "--cluster-cidr=10.244.0.0/16"];
  replicas = new Replicas(cluster, plane, { flags, ...(previous !== undefined && { executable: previous }) });
});
afterEach(async () => {
  replicas[Symbol.dispose]();
  await cluster[Symbol.asyncDispose]();
  await plane.stop();
});

const names = Array.from({ length: 8 }, (_, index) => `shop-${index}`);

const join = async (number: number): Promise<void> => {
  const { id } = cluster.cloud.machines.add(`worker-${number}`);
  const podCIDR = `10.244.${number}.0/24`;
  await cluster.join(`worker-${number}`, { providerID: `fake://${id}`, podCIDR, podCIDRs: [podCIDR] });
  await cluster.initialized(`worker-${number}`);
};

/** Nodes with routes and Services with load balancers, as the previous release leaves them. */
const settle = async (): Promise<void> => {
  for (const number of [1, 2, 3]) await join(number);
  for (const name of names) await services.create(name);
  for (const name of names) await services.served(name);
  await cluster.until("the routes", () => cluster.cloud.routes.list().length === 3);
  await cluster.until("all targets", () =>
    cluster.cloud.balancers.list().every(({ targets }) => targets.length === 3),
  );
};

/** The objects that must keep their id. */
const ids = () => ({
  balancers: cluster.cloud.balancers.list().map(({ id }) => id),
  routes: cluster.cloud.routes.list().map(({ id }) => id),
});

/** Replaces the replicas one after another, and runs `proof` each time that one of them leads. */
const roll = async (executable: string, proof: () => Promise<void>): Promise<void> => {
  for (const replica of replicas.all) {
    replica.signal("SIGTERM");
    await cluster.until("another leader", () => replicas.leader(replica));
    expect(await replica.again(executable)).toBe(0);
    await proof();
  }
};

describe.skipIf(previous === undefined)("An upgrade from the previous release", () => {
  test("an upgrade from the previous release and a downgrade write nothing on a settled cluster", async () => {
    await settle();
    const before = ids();
    let markers = 0;
    /** The leader has finished its initial work when a newly created Service has its load balancer. */
    const proof = async (): Promise<void> => {
      markers += 1;
      const name = `marker-${markers}`;
      await services.create(name);
      await services.served(name);
      await cluster.until("the end of its events", () =>
        replicas.writes().some(({ object }) => object.startsWith(`${name}.`)),
      );
    };
    await proof();
    const start = replicas.writes().length;
    await roll(current, proof);
    await roll(previous ?? "", proof);
    const made = replicas.writes().slice(start);
    const ofCloud = made.filter(({ what }) => what.startsWith("Cloud: "));
    expect(ofCloud.map(({ what }) => what)).toEqual(
      Array.from({ length: 6 }, () => "Cloud: POST /balancers"),
    );
    expect(made.filter((write) => !ofCloud.includes(write) && !write.object.startsWith("marker-"))).toEqual(
      [],
    );
    expect(ids()).toEqual({ ...before, balancers: expect.arrayContaining([...before.balancers]) });
  });

  test("an upgrade from the previous release and a downgrade lose nothing while Services and Nodes change", async () => {
    await settle();
    const before = ids();
    const ports = new Map<string, number>();
    let [isOver, joined] = [false, 3];
    const changing = (async () => {
      for (let change = 0; !isOver; change += 1) {
        const name = names[change % names.length] ?? "";
        await services.edit(name, { spec: { ports: [{ port: 1000 + change, targetPort: 8080 }] } });
        ports.set(name, 1000 + change);
        if (change % 20 === 0) {
          joined += 1;
          await join(joined);
        }
        await Bun.sleep(50);
      }
    })();
    const works = async (): Promise<void> => {
      const start = replicas.writes().length;
      await cluster.until("20 writes", () => replicas.writes().length >= start + 20);
    };
    await roll(current, works);
    await roll(previous ?? "", works);
    isOver = true;
    await changing;
    await cluster.until("the state that users requested last", async () => {
      const all = await services.all();
      const isServed = all.every((service) => {
        const [balancer, ...more] = services.balancersOf(service);
        const port = balancer?.listeners.map((listener) => listener.port).join();
        return (
          more.length === 0 &&
          port === `${ports.get(service.metadata.name)}` &&
          balancer?.targets.length === joined
        );
      });
      return all.length === names.length && isServed && cluster.cloud.routes.list().length === joined;
    });
    const after = ids();
    expect(after.balancers).toEqual(before.balancers);
    expect(after.routes).toEqual(expect.arrayContaining(before.routes));
    const deletions = replicas.writes().filter(({ what }) => /^Cloud: DELETE|delete nodes/.test(what));
    expect(deletions).toEqual([]);
    expect((await services.nodeNames()).length).toBe(joined);
  });
});

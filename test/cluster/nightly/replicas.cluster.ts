// Three replicas under fault injection: leaders that are paused past their Lease, killed and stopped while Services and Nodes
// change. A replica that has lost its Lease begins no write, and everything converges.

import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { milliseconds } from "../../../src/core/brand.ts";
import { seededRandom } from "../../../src/platform/random.ts";
import { runsNightly } from "../../../src/testing/breadth.ts";
import { checkWith, linearizabilityChecker } from "../../tools/linearizability/operations.ts";
import { leaseOperations } from "../../tools/linearizability/read-audit.ts";
import { orSkipped } from "../../tools/rig/install.ts";
import { type BalancedServices, balancedServices } from "../rig/balanced-services.ts";
import { type Cluster, openCluster } from "../rig/cluster.ts";
import { startControlPlane } from "../rig/control-plane.ts";
import { type Replica, Replicas } from "../rig/replicas.ts";

const linearizability = orSkipped("the history of the Lease", linearizabilityChecker);

/** Several clusters at once, because most of the time is spent waiting for a Lease to expire. */
const clusters = runsNightly ? [1, 2, 3, 4] : [1];
const pauseCount = runsNightly ? 50 : 10;
const otherCount = runsNightly ? 5 : 1;
const names = Array.from({ length: 12 }, (_, index) => `fire-${index}`);

/** Constantly changes Services and registers Nodes, so that faults interrupt writes. Returns the last port of each Service. */
async function changeUntil(
  isOver: () => boolean,
  services: BalancedServices,
): Promise<ReadonlyMap<string, number>> {
  const ports = new Map<string, number>();
  for (let change = 0; !isOver(); change += 1) {
    const name = names[change % names.length] ?? "";
    const port = 1000 + (change % 30_000);
    try {
      await services.edit(name, { spec: { ports: [{ port, targetPort: 8080 }] } });
      ports.set(name, port);
      if (change % 100 === 0) await services.target(`joined-${change}`);
    } catch {
      // The API server is restarting.
    }
    await Bun.sleep(50);
  }
  return ports;
}

const converged = async (
  { cloud, until }: Cluster,
  services: BalancedServices,
  ports: ReadonlyMap<string, number>,
): Promise<void> => {
  await until("one load balancer for each Service, as its user last requested it", async () => {
    const registered = await services.nodeNames();
    const targets = registered.map((name) => cloud.machines.find(name)[0]?.id).toSorted();
    const all = await services.all();
    return (
      cloud.balancers.list().length === names.length &&
      all.every((service) => {
        const [balancer, ...more] = services.balancersOf(service);
        const listened = balancer?.listeners.map(({ port }) => port).join();
        const hasTargets = Bun.deepEquals(balancer?.targets.toSorted(), targets);
        return more.length === 0 && listened === `${ports.get(service.metadata.name)}` && hasTargets;
      })
    );
  });
};

test.concurrent.each(clusters)(
  `a leader that is paused past its Lease at ${pauseCount} random points begins no write, and the state converges: cluster %d [F67 N14]`,
  async (number) => {
    const seed = number + Number(process.env["FAIRLEAD_STORM_SEED"] ?? Date.now() % 1_000_000);
    console.log(`seed ${seed - number}; FAIRLEAD_STORM_SEED=${seed - number} chooses the same faults again`);
    const random = seededRandom(seed);
    const between = (min: number, max: number): number =>
      min + Math.floor(random.fraction() * (max - min + 1));
    const plane = await startControlPlane({ audit: "leases" });
    try {
      await using cluster = await openCluster(plane.kubeconfig);
      const { until } = cluster;
      cluster.cloud.latency = milliseconds(20);
      const services = balancedServices(cluster);
      await services.target("target-1");
      for (const name of names) await services.create(name);
      using replicas = new Replicas(cluster, plane);
      const leader = (except?: Replica): Promise<Replica> =>
        until("a leader", () => replicas.leader(except), { everyMs: 5 });
      const works = async (replica: Replica): Promise<void> => {
        const begun = Date.now();
        await until(`writes of ${replica.name}`, () =>
          replicas.writes().some(({ by, at }) => by === replica.name && at > begun),
        );
      };

      let landed = 0;
      const faults = {
        pause: async (old: Replica): Promise<void> => {
          old.signal("SIGSTOP");
          const next = await leader(old);
          await works(next);
          // A paused replica begins nothing, so everything that began earlier began before the pause.
          const resumed = Date.now();
          old.signal("SIGCONT");
          await until(`${old.name} to notice`, () => !old.log.leads);
          await works(next);
          const late = () => replicas.writes().filter(({ by, at }) => by === old.name && at >= resumed);
          // A request that was handed to the network before the pause may arrive later. The replica logs it when it ends,
          // possibly after the API server.
          await until(
            `the log of ${old.name} to show that it sent each late write before it was paused`,
            () => old.log.begunSince(resumed, late()).length === 0,
            { seconds: 30, explain: () => old.log.explain(old.log.begunSince(resumed, late())) },
          );
          landed += late().length;
        },
        kill: async (old: Replica): Promise<void> => {
          old.signal("SIGKILL");
          await works(await leader(old));
          await old.again();
        },
        stop: async (old: Replica): Promise<void> => {
          old.signal("SIGTERM");
          await works(await leader(old));
          expect(await old.again()).toBe(0);
        },
        "restart the API server": async (): Promise<void> => {
          await plane.killServer();
          await plane.startServer();
          await works(await leader());
        },
        "restart etcd": async (): Promise<void> => {
          await plane.restartEtcd();
          await works(await leader());
        },
      } as const;
      type Fault = keyof typeof faults;
      const others: readonly Fault[] = ["kill", "stop"];
      const restarts: readonly Fault[] = runsNightly ? ["restart the API server", "restart etcd"] : [];
      const queue: Fault[] = [
        ...Array.from({ length: pauseCount }, (): Fault => "pause"),
        ...Array.from({ length: otherCount }, () => [...others, ...restarts]).flat(),
      ];
      let isOver = false;
      const changing = changeUntil(() => isOver, services);
      await works(await leader());
      while (queue.length > 0) {
        const [fault = "pause"] = queue.splice(between(0, queue.length - 1), 1);
        await Bun.sleep(between(0, 800));
        await faults[fault](await leader());
      }
      isOver = true;
      await converged(cluster, services, await changing);
      if (linearizability !== undefined) {
        const operations = leaseOperations(
          readFileSync(plane.auditLog, "utf8"),
          "kube-system",
          cluster.leaseName,
        );
        const open = operations.filter(({ result }) => result === undefined).length;
        console.log(`${operations.length} operations on the Lease, ${open} of them without an answer`);
        expect(checkWith(linearizability, operations)).toBe("1 objects, 0 not linearizable");
      }
      console.log(
        `${replicas.writes().length} writes; ${landed} that were sent before a pause arrived after it`,
      );
    } finally {
      await plane.stop();
    }
  },
  runsNightly ? 5_400_000 : 300_000,
);

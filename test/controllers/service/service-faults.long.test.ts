import { expect, test } from "bun:test";
import { runsAllTests } from "../../../src/testing/breadth.ts";
import { ServiceWorld } from "../../support/service-world.ts";

// Services under faults of the cloud, the API server and the process: crashes at every request, a slow cloud, an
// exceeded quota, failing listings, and drift.

const mutating = (what: string): boolean => !what.startsWith("GET ");

/** Crashes the process at the n-th request boundary; the result states whether that happened. */
const crashAt = (w: ServiceWorld, nth: number): (() => boolean) => {
  let crossings = 0;
  let struck = false;
  w.onCrossing = () => {
    if (crossings++ !== nth || struck) return;
    struck = true;
    w.crash();
  };
  return () => struck;
};

const lives: Record<string, (w: ServiceWorld) => void> = {
  made: (w) => void w.create("a"),
  changed: (w) => w.annotate("b", { "balancer.fake.example/algorithm": "least-connections" }),
  retyped: (w) => w.editSpec("b", { type: "ClusterIP" }),
  deleted: (w) => w.delete("b"),
};

test.each(Object.keys(lives))(
  "a crash at any request while a Service is %s leaves no orphan and no second load balancer [F26 F27]",
  async (life) => {
    for (const [remainder, actionTime] of [0, 300].entries()) {
      // In `npm test`, each position uses one of the two clouds.
      const [first, step] = runsAllTests ? [0, 1] : [remainder, 2];
      for (let nth = first, wasStruck = true; wasStruck; nth += step) {
        const w = new ServiceWorld({ actionTime });
        await w.start();
        w.create("b");
        await w.pass(30);
        const hasStruck = crashAt(w, nth);
        lives[life]?.(w);
        await w.pass(10);
        wasStruck = hasStruck();
        w.onCrossing = undefined;
        if (wasStruck) await w.start();
        await w.pass(60);
        expect({ life, nth, owners: w.owners() }).toEqual({ life, nth, owners: w.wanted() });
        if (life === "changed") expect(w.cloud.balancers.list()[0]?.algorithm).toBe("least-connections");
        if (life === "deleted") expect(w.find("b")).toBeUndefined();
        for (const { metadata } of w.services()) {
          const isServed = w.wanted().includes(metadata.uid);
          expect(w.addressesOf(metadata.name)).toHaveLength(isServed ? 1 : 0);
          expect(metadata.finalizers ?? []).toHaveLength(isServed ? 1 : 0);
        }
        w.forget();
        await w.pass(7200);
        expect([...w.asked.filter(mutating), ...w.written]).toEqual([]);
        w.crash();
      }
    }
  },
);

test("a cloud that takes five minutes per load balancer delays no other Service and is not polled every second [F51]", async () => {
  const w = new ServiceWorld({ actionTime: 300_000 });
  await w.start("--concurrent-service-syncs=1");
  w.create("slow");
  await w.pass(10);
  w.cloud.balancers.actionTime = 0 as never;
  w.create("quick");
  await w.until(() => w.addressesOf("quick").length === 1, "the quick one", 5);
  expect(w.addressesOf("slow")).toEqual([]);
  await w.until(() => w.addressesOf("slow").length === 1, "the slow one", 340);
  expect(w.asked.length).toBeLessThan(80);
  const waits = w.events("slow").filter((text) => text.includes("WaitingForCloud"));
  // The event of the step, then its duration after 10 s and 1 m.
  expect(waits).toHaveLength(3);
  expect(waits.map((text) => /waiting for (.*) so far/.exec(text)?.[1])).toEqual([
    undefined,
    expect.stringMatching(/^1\ds$/),
    expect.stringMatching(/^1m\d+s$/),
  ]);
});

test("an exceeded quota causes a Warning on its Service with slow retries, and other Services continue", async () => {
  const w = new ServiceWorld();
  await w.start();
  w.cloud.faults.add({ kind: "status", status: 402, operation: "POST /balancers", calls: 1000 });
  const status = await refusalOf(w, "full");
  expect(status).toStartWith("Warning SyncLoadBalancerFailed Error syncing load balancer: ");
  w.forget();
  // Other Services change, and each change is followed by a listing.
  w.cloud.faults.clear();
  w.create("other");
  await w.until(() => w.addressesOf("other").length === 1, "the other one", 5);
  await w.pass(2);
  expect(w.addressesOf("full")).toEqual([]);
  w.cloud.faults.add({ kind: "status", status: 402, operation: "POST /balancers", calls: 1000 });
  for (let index = 0; index < 100; index += 1) {
    const algorithm = index % 2 === 0 ? "least-connections" : "round-robin";
    w.annotate("other", { "balancer.fake.example/algorithm": algorithm });
    await w.pass(6);
  }
  expect(w.asked.filter((what) => what === "POST /balancers").length).toBeLessThan(8);
  w.cloud.faults.clear();
  await w.until(() => w.addressesOf("full").length === 1, "the quota to be noticed", 1000);
});

const refusalOf = async (w: ServiceWorld, name: string): Promise<string> => {
  w.create(name);
  await w.pass(5);
  return w.events(name).find((text) => text.startsWith("Warning")) ?? "";
};

test.each([401, 403, 500])(
  "a cloud that answers listings with %d gets requests with growing backoff, and the Service gets an event",
  async (code) => {
    const w = new ServiceWorld();
    await w.start();
    for (const name of ["a", ...Array.from({ length: 30 }, (_, index) => `s${index}`)]) w.create(name);
    await w.pass(30);
    await w.stop();
    w.forget();
    w.cloud.faults.add({ kind: "status", status: code, operation: "GET /balancers", calls: 100_000 });
    await w.start();
    await w.pass(600);
    expect(w.asked.length).toBeLessThan(80);
    expect(w.changes).toEqual([]);
    expect(w.events("a").some((text) => text.startsWith("Warning SyncLoadBalancerFailed"))).toBe(true);
    // Afterwards, everything recovers quickly.
    w.cloud.faults.clear();
    w.delete("a");
    await w.until(() => w.find("a") === undefined, "the deletion", 90);
  },
);

test("drift is repaired when a load balancer was deleted or edited in the cloud [F52 N5]", async () => {
  const w = new ServiceWorld();
  await w.start();
  for (const name of ["a", "b"]) w.create(name);
  await w.pass(30);
  w.forget();
  const [one, other] = w.cloud.balancers.list();
  w.cloud.balancers.remove(one?.id ?? "");
  w.cloud.balancers.change(other?.id ?? "", { targets: [] });
  await w.pass(3600);
  expect(w.owners()).toEqual(w.wanted());
  expect(w.cloud.balancers.list().map(({ targets }) => targets.length)).toEqual([3, 3]);
  expect(w.changes).toHaveLength(2);
  expect(w.events("a").filter((text) => text.startsWith("Warning LoadBalancerDrift"))).toHaveLength(1);
  expect(w.addressesOf("a")).toEqual(["192.0.2.3"]);
  // The same drift later is reported again.
  w.cloud.balancers.change(w.cloud.balancers.list()[0]?.id ?? "", { targets: [] });
  await w.pass(3600);
  expect(w.cloud.balancers.list()[0]?.targets).toHaveLength(3);
});

test("--load-balancer-drift=report reports drift without repairing it, and still applies changes of Services [F52]", async () => {
  const w = new ServiceWorld();
  await w.start("--load-balancer-drift=report");
  w.create("web");
  await w.pass(30);
  w.forget();
  const id = w.cloud.balancers.list()[0]?.id ?? "";
  w.cloud.balancers.change(id, { targets: [] });
  await w.pass(7200);
  expect(w.changes).toEqual([]);
  expect(w.events("web").filter((text) => text.startsWith("Warning LoadBalancerDrift"))).toHaveLength(1);
  w.annotate("web", { "balancer.fake.example/algorithm": "least-connections" });
  await w.pass(30);
  expect(w.cloud.balancers.get(id).algorithm).toBe("least-connections");
});

test("a change that the user reverts after its response was lost is not drift", async () => {
  const w = new ServiceWorld();
  await w.start("--load-balancer-drift=report");
  w.create("web");
  await w.pass(30);
  // The change takes effect but its response is lost, and then the user reverts it.
  w.cloud.faults.add({ kind: "lost-answer", operation: "PATCH /balancers/{id}" });
  w.annotate("web", { "balancer.fake.example/algorithm": "least-connections" });
  await w.pass(0.1);
  w.annotate("web", { "balancer.fake.example/algorithm": undefined });
  await w.pass(60);
  expect(w.cloud.balancers.list()[0]?.algorithm).toBe("round-robin");
  expect(w.events("web").filter((text) => text.includes("Drift"))).toEqual([]);
});

test("a new leader does not plan on listings from before another replica led", async () => {
  const w = new ServiceWorld();
  await w.start("--leader-elect=true");
  w.create("web");
  await w.pass(60);
  const lease = () => w.server.store.get("leases", "kube-system", "cloud-controller-manager");
  w.holdLease("another-replica");
  await w.pass(5);
  expect(lease()?.spec).toMatchObject({ holderIdentity: "another-replica" });
  // The other replica serves a new Service, which has no load balancer in this replica's old listing.
  const { metadata, spec } = w.create("late");
  const { id: _, ip: __, ...known } = w.cloud.balancers.list()[0] ?? { id: "", ip: "" };
  const listeners = spec.ports?.map(({ port, nodePort = 0 }) => ({
    protocol: "TCP",
    port,
    target_port: nodePort,
  }));
  w.cloud.balancers.create({
    ...known,
    name: `a${metadata.uid.replaceAll("-", "")}`.slice(0, 32),
    labels: { ...("labels" in known && known.labels), "owner-uid": metadata.uid },
    ...(listeners !== undefined && { listeners }),
  });
  w.forget();
  w.holdLease("");
  await w.pass(60);
  expect(w.changes).toEqual([]);
  expect(w.addressesOf("late")).toEqual(["192.0.2.2"]);
});

test("a change that another replica applied and the user reverted is not drift", async () => {
  const w = new ServiceWorld();
  await w.start("--leader-elect=true", "--load-balancer-drift=report");
  w.create("web");
  await w.pass(60);
  const id = w.cloud.balancers.list()[0]?.id ?? "";
  w.holdLease("another-replica");
  await w.pass(5);
  w.annotate("web", { "balancer.fake.example/algorithm": "least-connections" });
  w.cloud.balancers.change(id, { algorithm: "least-connections" });
  w.annotate("web", { "balancer.fake.example/algorithm": undefined });
  w.holdLease("");
  await w.pass(60);
  expect(w.cloud.balancers.get(id).algorithm).toBe("round-robin");
  expect(w.events("web").filter((text) => text.includes("Drift"))).toEqual([]);
});

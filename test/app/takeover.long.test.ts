import { afterEach, describe, expect, test } from "bun:test";
import { asTransport } from "../../src/testing/apiserver/as-transport.ts";
import type { KubeObject } from "../../src/testing/apiserver/objects/kube-object.ts";
import { resourceNamed } from "../../src/testing/apiserver/objects/resource-table.ts";
import { toNode } from "../support/api-server-nodes.ts";
import { ServiceWorld } from "../support/service-world.ts";

// A replica whose caches are older than the state of the cloud and the cluster.

let world: ServiceWorld | undefined;
afterEach(async () => {
  await world?.stop();
  world = undefined;
});

type WatchState = "works" | "is silent" | 500 | 410 | 429;

/** Lets the test control watches. A silent watch stays open, and its messages are lost. */
const controlWatches = ({ server }: ServiceWorld): ((state: WatchState) => void) => {
  const direct = asTransport(server);
  let state: WatchState = "works";
  let isDirect = false;
  const open = new Set<ReadableStreamDefaultController>();
  const refusal = (code: number): Response =>
    Response.json({ kind: "Status", status: "Failure", message: "injected", code }, { status: code });
  server.faults.intercept = (request, { verb, plural }) => {
    if (isDirect || plural === "leases") return undefined;
    if (typeof state === "number") return verb === "watch" || verb === "list" ? refusal(state) : undefined;
    if (verb !== "watch") return undefined;
    const end = new AbortController();
    isDirect = true;
    const answer = direct(request, end.signal);
    isDirect = false;
    const pump = async (controller: ReadableStreamDefaultController): Promise<void> => {
      open.add(controller);
      for await (const chunk of (await answer).body ?? []) {
        if (!end.signal.aborted && state === "works") controller.enqueue(chunk);
      }
      if (open.delete(controller) && state === "works") controller.close();
    };
    return new Response(
      new ReadableStream({
        start: (controller) => void pump(controller).catch(() => undefined),
        cancel: () => end.abort(),
      }),
    );
  };
  return (next) => {
    state = next;
    if (next === "is silent") return;
    for (const controller of open) controller.error(new Error("The connection was closed."));
    open.clear();
  };
};

const flags = [
  "--leader-elect=true",
  "--controllers=service,node-route",
  "--cluster-cidr=10.244.0.0/16",
  "--cluster-name=prod",
];

const putNode = (w: ServiceWorld, name: string, range: string): void => {
  const { id } = w.cloud.machines.add(name);
  const spec = { providerID: `fake://${id}`, podCIDR: range, podCIDRs: [range] };
  w.server.store.put(resourceNamed("nodes"), toNode({ name, spec }) as unknown as KubeObject);
};

/**
 * A settled cluster with the Service `web` and two Nodes. Another replica leads, and this replica has
 * warm caches that have stopped following the API server.
 */
const standby = async (watches: WatchState) => {
  const w = new ServiceWorld({ nodes: 0 });
  world = w;
  const setWatches = controlWatches(w);
  putNode(w, "a", "10.244.1.0/24");
  putNode(w, "b", "10.244.2.0/24");
  w.create("web");
  await w.start(...flags);
  await w.until(
    () => w.addressesOf("web").length > 0 && w.cloud.routes.list().length === 2,
    "a settled state",
  );
  w.crash();
  w.holdLease("other");
  await w.start(...flags);
  await w.pass(10);
  w.holdLease("other");
  setWatches(watches);
  await w.pass(1);
  w.forget();
  return { w, setWatches };
};

/** What the other leader does when the Service no longer needs a load balancer. */
const removeBalancer = (w: ServiceWorld): void => {
  for (const { id } of w.cloud.balancers.list()) w.cloud.balancers.remove(id);
  w.edit("web", ({ metadata, ...rest }) => ({ ...rest, metadata: { ...metadata, finalizers: [] } }));
};

describe.each<[WatchState]>([["is silent"], [500], [410], [429]])(
  "a replica that becomes leader when its watch answers: %p",
  (watches) => {
    /** Leads for minutes without a working watch, and then for minutes with one. */
    const takeOver = async ({ w, setWatches }: Awaited<ReturnType<typeof standby>>): Promise<void> => {
      await w.pass(200);
      setWatches("works");
      await w.pass(900);
    };

    test("keeps the route of a Node that joined in the meantime [N23]", async () => {
      const { w, setWatches } = await standby(watches);
      putNode(w, "c", "10.244.3.0/24");
      const machine = w.cloud.machines.list().find(({ name }) => name === "c")?.id ?? "";
      w.cloud.routes.create({ destination: "10.244.3.0/24", machine, labels: { cluster: "prod" } });
      await takeOver({ w, setWatches });
      expect(w.changes.filter((change) => change.includes("/routes"))).toEqual([]);
    });

    test("keeps the current port of a Service [N23]", async () => {
      const { w, setWatches } = await standby(watches);
      w.editSpec("web", { ports: [{ port: 81, protocol: "TCP" }] });
      const [balancer] = w.cloud.balancers.list();
      const listeners = (balancer?.listeners ?? []).map((listener) => ({ ...listener, port: 81 }));
      const ports: number[][] = [];
      w.onCrossing = () => {
        ports.push(w.cloud.balancers.list().flatMap((one) => one.listeners.map(({ port }) => port)));
      };
      w.cloud.balancers.change(balancer?.id ?? "", { listeners });
      await takeOver({ w, setWatches });
      expect(ports.filter(([port]) => port !== 81)).toEqual([]);
    });

    test("creates no load balancer for a Service that was deleted [N23]", async () => {
      const { w, setWatches } = await standby(watches);
      w.delete("web");
      removeBalancer(w);
      expect(w.find("web")).toBeUndefined();
      await takeOver({ w, setWatches });
      expect(w.changes).toEqual([]);
    });

    test("creates no load balancer for a Service whose type has changed [N23]", async () => {
      const { w, setWatches } = await standby(watches);
      w.editSpec("web", { type: "ClusterIP" });
      removeBalancer(w);
      await takeOver({ w, setWatches });
      expect(w.changes).toEqual([]);
    });
  },
);

test("the first leader creates a missing route immediately, a later leader once the former leader cannot have created it [N23]", async () => {
  const w = new ServiceWorld({ nodes: 0 });
  world = w;
  const routes = () => w.cloud.routes.list().map(({ destination }) => destination);
  const lead = async (): Promise<void> => {
    await w.start(...flags);
    await w.until(() => w.manager.leads(), "this replica to lead");
  };
  putNode(w, "a", "10.244.1.0/24");
  await lead();
  await w.pass(10);
  expect(routes()).toEqual(["10.244.1.0/24"]);
  w.crash();
  putNode(w, "b", "10.244.2.0/24");
  await lead();
  await w.pass(5);
  putNode(w, "c", "10.244.3.0/24");
  await w.pass(10);
  expect(routes()).toEqual(["10.244.1.0/24", "10.244.3.0/24"]);
  await w.pass(30);
  expect(routes()).toEqual(["10.244.1.0/24", "10.244.3.0/24", "10.244.2.0/24"]);
});

test("lists objects once when a replica acquires the Lease at the start [N23]", async () => {
  const w = new ServiceWorld({ nodes: 1 });
  world = w;
  await w.start(...flags);
  w.create("web");
  await w.until(() => w.addressesOf("web").length > 0, "the load balancer");
  expect(w.read.filter((path) => path === "/api/v1/nodes")).toHaveLength(1);
  expect(w.read.filter((path) => path === "/api/v1/services")).toHaveLength(1);
});

test("a leader whose lists fail logs the missing lists, and works as soon as the lists succeed [N23]", async () => {
  const { w, setWatches } = await standby(429);
  w.create("shop");
  await w.pass(60);
  expect(w.logged.join()).toContain(
    "The controllers have waited 10s for a complete list of nodes and services. Nothing is changed in the cloud or the cluster before it succeeds.",
  );
  expect(w.manager.metrics.text()).toContain("fairlead_caches_awaited 2");
  expect(w.written.filter((write) => !write.includes("/events"))).toEqual([]);
  setWatches("works");
  await w.until(() => w.addressesOf("shop").length > 0, "the load balancer", 60);
  expect(w.logged.join()).toContain("All caches are current; the controllers run");
  expect(w.manager.metrics.text()).toContain("fairlead_caches_awaited 0");
});

describe.each<[WatchState]>([[500], [410], [429]])(
  "a leader whose watches and lists answer %p",
  (watches) => {
    const leader = async () => {
      const w = new ServiceWorld({ nodes: 2 });
      world = w;
      const setWatches = controlWatches(w);
      w.create("web");
      await w.start(...flags);
      await w.until(() => w.addressesOf("web").length > 0, "a settled state");
      return { w, setWatches };
    };

    test("a leader changes nothing after three minutes of failing lists, and recovers without a restart [N23]", async () => {
      const { w, setWatches } = await leader();
      setWatches(watches);
      await w.pass(180);
      w.forget();
      // The cloud shows this to a leader that does not know whether a user changed the Service.
      for (const { id } of w.cloud.balancers.list()) w.cloud.balancers.change(id, { listeners: [] });
      await w.pass(3600);
      expect([w.changes, w.written.filter((write) => !write.includes("/events"))]).toEqual([[], []]);
      expect(w.logged.filter((line) => line.includes("The controllers stop"))).toEqual([
        expect.stringContaining("The API server has sent nothing about "),
      ]);
      setWatches("works");
      await w.until(() => w.changes.length > 0, "the repair", 3600);
    });
  },
);

test("rewrites a status that an API server lost in a restore to older revisions [N23]", async () => {
  const w = new ServiceWorld({ nodes: 2, actionTime: 5000 });
  world = w;
  const setWatches = controlWatches(w);
  await w.start(...flags);
  w.create("web");
  await w.pass(3);
  setWatches("is silent");
  const restore = w.server.store.backup();
  await w.until(() => w.addressesOf("web").length > 0, "the status");
  restore();
  expect(w.addressesOf("web")).toEqual([]);
  setWatches("works");
  await w.until(() => w.addressesOf("web").length > 0, "the status again", 300);
});

describe("a leader whose lists fail for five minutes while it renews its Lease", () => {
  const holder = (w: ServiceWorld): unknown =>
    w.server.store.get("leases", "kube-system", "cloud-controller-manager")?.spec?.["holderIdentity"];
  const isLeader = (w: ServiceWorld): boolean => String(holder(w)).startsWith("replica-");

  /** A replica that acquires the Lease from another one while its lists already fail in this way. */
  const blindLeader = async (watches: WatchState) => {
    const { w, setWatches } = await standby(watches);
    await w.until(() => isLeader(w), "a leader that lists nothing", 60);
    return { w, setWatches };
  };

  test.each<[WatchState]>([["is silent"], [500], [429]])(
    "releases the Lease and leaves it to other replicas (lists: %p) [N23]",
    async (watches) => {
      const { w, setWatches } = await blindLeader(watches);
      if (watches === "is silent") {
        // Lists of every form never end.
        w.readFault = (path) =>
          /\/(nodes|services)$/.test(path) ? new Response(new ReadableStream()) : undefined;
      }
      await w.pass(280);
      expect(isLeader(w)).toBe(true);
      await w.pass(60);
      expect(holder(w)).toBe("");
      await w.pass(1200);
      expect(holder(w)).toBe("");
      expect(w.manager.report().noLeader).toStartWith(
        "No manager leads: the Lease kube-system/cloud-controller-manager has no holder.",
      );
      const logged = w.logged.join("\n");
      expect(logged.match(/Lost leadership: .*/g)).toEqual([
        expect.stringContaining(
          "Lost leadership: no complete list of nodes and services succeeded within 5m, so another replica should lead. This replica does not become leader again before its lists succeed.",
        ),
      ]);
      expect(logged).toContain("Released the Lease kube-system/cloud-controller-manager");
      w.readFault = undefined;
      setWatches("works");
      w.create("shop");
      await w.until(() => w.addressesOf("shop").length > 0, "the load balancer", 300);
      expect(w.logged.join()).toContain("All caches are current; this replica can become leader again");
    },
  );

  test("a leader whose lists fail for five minutes steps down even if it had complete lists at first [N23]", async () => {
    const { w, setWatches } = await standby("works");
    await w.until(() => isLeader(w), "a leader", 60);
    await w.pass(60);
    setWatches(500);
    await w.pass(240);
    expect(isLeader(w)).toBe(true);
    await w.pass(100);
    expect(holder(w)).toBe("");
  });

  test("a leader keeps the Lease when a list succeeds in time [N23]", async () => {
    const { w, setWatches } = await blindLeader(500);
    await w.pass(250);
    setWatches("works");
    await w.pass(600);
    expect(isLeader(w)).toBe(true);
    expect(w.logged.join()).not.toContain("Lost leadership");
  });
});

test("a standby replica with an outdated cache leaves a free Lease to other replicas, and reports its cache once [N23]", async () => {
  const { w, setWatches } = await standby("works");
  const renew = (): void => w.holdLease("other");
  setWatches(500);
  for (let times = 0; times < 40; times += 1) {
    renew();
    await w.pass(5);
  }
  await w.pass(120);
  expect(
    w.server.store.get("leases", "kube-system", "cloud-controller-manager")?.spec?.["holderIdentity"],
  ).toBe("other");
  expect(w.logged.filter((line) => line.includes("does not become leader"))).toEqual([
    expect.stringMatching(
      /The API server has sent nothing about nodes and services for \d+s\. This replica does not become leader before a complete list succeeds\./,
    ),
  ]);
  setWatches("works");
  w.create("shop");
  await w.until(() => w.addressesOf("shop").length > 0, "the load balancer", 300);
});

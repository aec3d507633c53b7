import { afterEach, describe, expect, test } from "bun:test";
import { ClusterIdentity } from "../../src/app/cluster-identity.ts";
import { KubeError } from "../../src/kube/errors/kube-error.ts";
import { VirtualClock } from "../../src/testing/virtual-time/virtual-clock.ts";
import { ServiceWorld } from "../support/service-world.ts";

// The uid of the kube-system namespace in the marks of the fake cloud, whose labels have space for it.

let world: ServiceWorld | undefined;
afterEach(async () => {
  await world?.stop();
  world = undefined;
});

const uidOf = (w: ServiceWorld) => w.server.store.get("namespaces", undefined, "kube-system")?.metadata.uid;
const uidLabels = (w: ServiceWorld) => w.cloud.balancers.list().map(({ labels }) => labels["cluster-uid"]);

const withService = async (): Promise<ServiceWorld> => {
  const w = new ServiceWorld();
  world = w;
  await w.start();
  w.create("web");
  await w.until(() => w.addressesOf("web").length > 0, "the load balancer");
  return w;
};

const relabel = (w: ServiceWorld, change: Readonly<Record<string, string>>) => {
  const [balancer] = w.cloud.balancers.list();
  if (balancer === undefined) throw new Error("Expected a load balancer.");
  const { "cluster-uid": _, ...labels } = balancer.labels;
  w.cloud.balancers.change(balancer.id, { labels: { ...labels, ...change } });
};

describe("a manager", () => {
  test("writes the uid of the cluster into the mark of a new load balancer [N24]", async () => {
    const w = await withService();
    expect(uidLabels(w)).toEqual([uidOf(w)]);
  });

  test("manages a load balancer whose mark lacks the uid, and does not add the uid [N24]", async () => {
    const w = await withService();
    await w.stop();
    relabel(w, {});
    await w.start();
    await w.pass(60);
    w.forget();
    w.editSpec("web", { ports: [{ port: 81, protocol: "TCP" }] });
    await w.pass(60);
    expect([w.cloud.balancers.list()[0]?.listeners[0]?.port, uidLabels(w)]).toEqual([81, [undefined]]);
  });

  test("does not change a load balancer with the uid of another cluster of the same name, and reports the other cluster [N24]", async () => {
    const w = await withService();
    await w.stop();
    relabel(w, { "cluster-uid": "uid-of-another-cluster" });
    await w.start();
    w.forget();
    w.editSpec("web", { ports: [{ port: 81, protocol: "TCP" }] });
    await w.pass(600);
    expect(w.changes).toEqual([]);
    expect(w.events("web").join("\n")).toContain(
      "belongs to cluster kubernetes (uid uid-of-another-cluster); this manager runs as kubernetes, but with a different uid.",
    );
    w.delete("web");
    await w.pass(600);
    expect([w.changes, w.find("web") === undefined]).toEqual([[], false]);
  });

  test("works without permission to read the namespace, and reports once that the uid is not checked [N24]", async () => {
    const w = new ServiceWorld();
    world = w;
    w.readFault = (path) =>
      path === "/api/v1/namespaces/kube-system" ? new Response("{}", { status: 403 }) : undefined;
    await w.start();
    w.create("web");
    await w.until(() => w.addressesOf("web").length > 0, "the load balancer");
    expect(uidLabels(w)).toEqual([undefined]);
    expect(w.logged.filter((line) => line.includes("The namespace kube-system cannot be read"))).toHaveLength(
      1,
    );
  });

  test("changes nothing in the cloud before the API server has identified the cluster [N24]", async () => {
    const w = new ServiceWorld();
    world = w;
    let isBroken = true;
    w.readFault = (path) =>
      isBroken && path === "/api/v1/namespaces/kube-system" ? new Response("{}", { status: 500 }) : undefined;
    await w.start();
    w.create("web");
    await w.pass(60);
    expect(w.changes).toEqual([]);
    isBroken = false;
    await w.until(() => w.addressesOf("web").length > 0, "the load balancer");
    expect(uidLabels(w)).toEqual([uidOf(w)]);
  });

  test("keeps the uid when a later leadership session may not read the namespace [N24]", async () => {
    let isRefusing = false;
    const logged: string[] = [];
    const identity = new ClusterIdentity({
      api: {
        get: async <T>() => {
          if (isRefusing) throw new KubeError("forbidden", "403", { operation: "get namespaces" });
          return { metadata: { name: "kube-system", uid: "uid-1", resourceVersion: "1" } } as T;
        },
      },
      clock: new VirtualClock(),
      log: { warn: (text) => void logged.push(text) },
      onProblem: () => undefined,
    });
    const { signal } = new AbortController();
    await identity.whenListed(0, signal);
    isRefusing = true;
    await identity.whenListed(1, signal);
    expect([identity.uid, logged]).toEqual(["uid-1", []]);
  });
});

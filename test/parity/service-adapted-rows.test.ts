import { describe, expect, test } from "bun:test";
import { ServiceRecords } from "../../src/controllers/service/state/service-records.ts";
import type { Service } from "../../src/kube/objects.ts";
import type { KubeObject } from "../../src/testing/apiserver/objects/kube-object.ts";
import { resourceNamed } from "../../src/testing/apiserver/objects/resource-table.ts";
import { ServiceWorld } from "../support/service-world.ts";

// Rows of upstream's controllers/service/controller_test.go whose setup does not exist in Fairlead: a nil in a cache,
// a failing lister, an unparsable key. Each tests the same behavior with another setup.

const four = ["s0", "s1", "s3", "s4"];

const worldOf = async (nodes: number, workers: number): Promise<ServiceWorld> => {
  const w = new ServiceWorld({ nodes });
  await w.start(`--concurrent-service-syncs=${workers}`);
  return w;
};

test("TestUpdateNodesInExternalLoadBalancer 6: other load balancers get the new Nodes despite a deleted Service", async () => {
  const w = await worldOf(0, 6);
  for (const name of ["s0", "gone"]) w.create(name);
  await w.pass(30);
  w.forget();
  for (const name of ["node1", "node2", "node3"]) w.addNode(name);
  w.delete("gone");
  await w.pass(30);
  const kinds = w.changes.map((change) => change.replace(/b\d$/, "b")).toSorted();
  expect(kinds).toEqual(["DELETE /balancers/b", "PATCH /balancers/b"]);
  expect(w.cloud.balancers.list().map(({ targets }) => targets.length)).toEqual([3]);
  await w.stop();
});

describe("TestNodeChangesInExternalLoadBalancer", () => {
  test.each([
    [4, 3],
    [5, 1],
  ])(
    "TestNodeChangesInExternalLoadBalancer %d: nothing changes while listings fail, and all four load balancers are updated later",
    async (_, workers) => {
      const w = await worldOf(1, workers);
      for (const name of four) w.create(name);
      await w.pass(600);
      w.forget();
      w.cloud.faults.add({ kind: "status", status: 500, operation: "GET /balancers", calls: 1000 });
      for (const name of ["n2", "n3", "n4"]) w.addNode(name);
      await w.pass(30);
      expect(w.changes).toEqual([]);
      expect(w.asked.length).toBeGreaterThan(1);
      w.cloud.faults.clear();
      await w.pass(600);
      expect(w.changes).toHaveLength(4);
      expect(w.cloud.balancers.list().map(({ targets }) => targets.length)).toEqual([4, 4, 4, 4]);
      await w.stop();
    },
  );
});

test("TestSyncService 1: a key is the uid of a Service, may contain anything and is never parsed", async () => {
  const w = await worldOf(3, 1);
  const service = w.create("web");
  const uid = "invalid/key/string";
  const other = { ...service, metadata: { ...service.metadata, name: "other", uid } };
  w.server.store.put(resourceNamed("services"), other as unknown as KubeObject);
  await w.pass(30);
  expect(w.addressesOf("other")).toHaveLength(1);
  expect(w.owners()).toEqual([service.metadata.uid, uid].toSorted());
  w.manager.queues["service"]?.add("another/invalid/key");
  for (const name of ["web", "other"]) w.delete(name);
  await w.pass(30);
  expect([w.owners(), w.services(), w.unexpectedErrors]).toEqual([[], [], []]);
  await w.stop();
});

// Only the store caches Services; the controller remembers just what it knows about each.
test("TestServiceCache: a Service is added, removed, added again, and found beside a second Service", () => {
  const records = new ServiceRecords();
  const of = (name: string, uid: string) => ({ metadata: { name, namespace: "default", uid } }) as Service;
  const uids = (): readonly string[] => records.all.map(({ uid }) => uid);
  const first = records.manage(of("a", "1"));
  expect(uids()).toEqual(["1"]);
  records.dismiss(first.uid);
  records.end(first.uid);
  expect(uids()).toEqual([]);
  records.manage(of("a", "1"));
  expect(records.managed("default/a")?.uid).toBe(first.uid);
  const second = records.manage(of("b", "2"));
  expect(uids()).toEqual(["1", "2"]);
  expect(records.get(second.uid)?.key).toBe("default/b");
});

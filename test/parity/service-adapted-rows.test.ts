import { describe, expect, test } from "bun:test";
import { fake } from "../../providers/fake/index.ts";
import { GroupStates } from "../../src/controllers/service/state/group-states.ts";
import { ServiceStates } from "../../src/controllers/service/state/service-states.ts";
import type { ServiceUID } from "../../src/core/brand.ts";
import { ServiceWorld } from "../support/service-world.ts";

// Rows of upstream's controllers/service/controller_test.go whose setup does not exist in Fairlead: a nil in a cache,
// a failing lister, an unparsable key. Each tests the same behavior with another setup.

const four = ["s0", "s1", "s3", "s4"];

const worldOf = async (nodes: number, workers: number): Promise<ServiceWorld> => {
  const w = new ServiceWorld({ nodes });
  await w.start(`--concurrent-service-syncs=${workers}`);
  return w;
};

test("TestUpdateNodesInExternalLoadBalancer 6: a deleted Service does not keep the new Nodes from other load balancers", async () => {
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

// biome-ignore lint/suspicious/noExplicitAny: a test bends a provider to any shape.
type Bent = any;

test("TestSyncService 1: a key may contain anything that the provider returns and is never parsed", async () => {
  const groupOf = (uid: string): string => `invalid/key/${uid}`;
  const provider = {
    ...fake,
    connect: (config: Bent, context: Bent) => {
      const cloud = (fake as Bent).connect(config, context);
      const { loadBalancers } = cloud;
      return {
        ...cloud,
        loadBalancers: {
          ...loadBalancers,
          groupOf: ({ owner }: Bent) => groupOf(owner.uid),
          list: async function* (call: Bent) {
            for await (const page of loadBalancers.list(call)) {
              yield page.map((one: Bent) => ({ ...one, group: groupOf(one.owners[0]) }));
            }
          },
        },
      };
    },
  };
  const w = new ServiceWorld({ provider });
  await w.start();
  w.create("web");
  await w.pass(30);
  expect(w.addressesOf("web")).toHaveLength(1);
  w.delete("web");
  await w.pass(30);
  expect([w.owners(), w.services(), w.unexpectedErrors]).toEqual([[], [], []]);
  await w.stop();
});

// Only the store caches Services; the controller remembers just the group of each.
test("TestServiceCache: a Service is added, removed, added again, and found beside a second one", () => {
  const groups = new GroupStates(new ServiceStates());
  const uid = (name: string) => name as ServiceUID;
  groups.assign("default/a", uid("1"), "g1");
  expect([...groups.names]).toEqual(["g1"]);
  groups.dismiss("default/a");
  expect([...groups.names]).toEqual([]);
  groups.assign("default/a", uid("1"), "g1");
  expect(groups.groupOf(uid("1"))).toBe("g1");
  groups.assign("default/b", uid("2"), "g2");
  expect([...groups.names].toSorted()).toEqual(["g1", "g2"]);
  expect(groups.membersOf("g2")).toEqual(["default/b"]);
});

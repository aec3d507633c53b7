// Members of leaving Nodes: with a drain time they first get the weight 0, with which Octavia opens no new connections.

import { expect, test } from "bun:test";
import { draft, OpenStackWorld, served } from "./openstack-world.ts";

const drain = "--load-balancer-target-drain=10m";
const batch = "PUT /load-balancer/v2.0/lbaas/pools/{id}/members";

const weightsOf = ({ cloud }: OpenStackWorld) =>
  Object.fromEntries(
    (cloud.balancing.pools.list()[0]?.members ?? []).map(({ name, weight }) => [name, weight]),
  );

const setTaint = (h: OpenStackWorld, name: string, isSet: boolean): void => {
  const value = String(Math.floor(h.world.clock.now() / 1000));
  const taint = { key: "ToBeDeletedByClusterAutoscaler", value, effect: "NoSchedule" } as const;
  h.world.changeNode(name, ({ spec, ...node }) => ({
    ...node,
    spec: { ...spec, taints: isSet ? [taint] : [] },
  }));
};

test("gives the member of a leaving Node the weight 0 for the drain time, and then removes it [F55]", async () => {
  const h = await served({}, {}, drain);
  setTaint(h, "node-1", true);
  await h.settle(60);
  expect(weightsOf(h)).toEqual({ "node-0": 1, "node-1": 0 });
  await h.settle(510);
  expect([weightsOf(h), h.changes]).toEqual([{ "node-0": 1, "node-1": 0 }, [batch]]);
  await h.settle(60);
  expect([weightsOf(h), h.changes]).toEqual([{ "node-0": 1 }, [batch, batch]]);
  await h.settle(7200);
  expect(h.changes).toEqual([batch, batch]);
});

test("restores the weight of a Node that stays after all, even if the manager restarted in the meantime [F55]", async () => {
  const h = await served({}, {}, drain);
  setTaint(h, "node-1", true);
  await h.settle(60);
  await h.world.stop();
  h.forget();
  await h.start(drain);
  await h.settle(60);
  expect([weightsOf(h), h.changes]).toEqual([{ "node-0": 1, "node-1": 0 }, []]);
  setTaint(h, "node-1", false);
  await h.settle(60);
  expect([weightsOf(h), h.changes]).toEqual([{ "node-0": 1, "node-1": 1 }, [batch]]);
});

test("removes a member immediately without a drain time, and no request has a weight [F55]", async () => {
  const h = await served();
  setTaint(h, "node-1", true);
  await h.settle(60);
  expect([weightsOf(h), h.changes]).toEqual([{ "node-0": 1 }, [batch]]);
  expect(JSON.stringify(h.cloud.seen)).not.toContain("weight");
});

test("keeps a member's weight that a user has set", async () => {
  const h = await served({}, {}, drain);
  const { pools } = h.cloud.balancing;
  const [pool] = pools.list();
  const members = (pool?.members ?? []).map((member) => ({ ...member, weight: 5 }));
  pools.change(pool?.id ?? "", { members });
  await h.settle(7200);
  expect([weightsOf(h), h.changes]).toEqual([{ "node-0": 5, "node-1": 5 }, []]);
});

test("with the Octavia provider ovn, which has no weights, a Service that requests a drain gets a warning [F55]", async () => {
  const h = new OpenStackWorld({ settings: { "lb-provider": "ovn" } });
  await h.start();
  h.world.create("web", draft({ "fairlead.dev/target-drain": "1m" }));
  await h.settle();
  expect(h.events()).toContain("DrainUnsupported");
  setTaint(h, "node-1", true);
  await h.settle(30);
  expect(weightsOf(h)).toEqual({ "node-0": 1 });
});

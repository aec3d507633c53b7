// Tests that the checks of what a leader must know can fail, and what they allow: a change that has only just happened.

import { expect, test } from "bun:test";
import { minutes, seconds } from "../../src/core/brand.ts";
import type { KubeObject } from "../../src/testing/apiserver/objects/kube-object.ts";
import { resourceNamed } from "../../src/testing/apiserver/objects/resource-table.ts";
import { World } from "./world.ts";

const lead = ({ server }: World, holderIdentity: string): void => {
  const metadata = { namespace: "kube-system", name: "cloud-controller-manager" };
  server.store.put(resourceNamed("leases"), { metadata, spec: { holderIdentity } } as unknown as KubeObject);
};

/** A Service whose load balancer gets the ports from before the last change. */
const withOldPorts = async (
  world: World,
  after: (world: World) => Promise<void>,
): Promise<readonly number[]> => {
  const { users, cloud, cloudInvariants, clock } = world;
  users.create("web", {});
  const uid = users.find("web")?.metadata.uid ?? "";
  const labels = { cluster: "kubernetes", "managed-by": "fairlead", "owner-uid": uid };
  const { id } = cloud.balancers.create({ name: "lb", labels });
  await clock.advance(minutes(10));
  users.editSpec("web", { ports: [{ port: 81, protocol: "TCP" }] });
  await after(world);
  const body = { listeners: [{ protocol: "TCP", port: 80, target_port: 30_000 }] };
  const [method, path] = ["PATCH", `/balancers/${id}`];
  cloud.handle({ method, path, query: new URLSearchParams(), body }, undefined);
  cloudInvariants.cloudHandled({ method, url: `http://cloud/v1${path}`, body: JSON.stringify(body) });
  return world.invariants.violations.map(({ invariant }) => invariant);
};

const worldOf = (): World => new World({ seed: 2, nodes: 3, replicas: 0 });

test("reverting the ports of a load balancer violates invariant 24 when the leader took the Lease after the change [N23]", async () => {
  const violated = await withOldPorts(worldOf(), async (world) => {
    await world.clock.advance(seconds(1));
    lead(world, "replica-2");
    await world.clock.advance(seconds(3));
  });
  expect(violated).toEqual([24]);
});

test("reverting the ports of a load balancer violates invariant 24 when the change is older than a silent watch [N23]", async () => {
  const violated = await withOldPorts(worldOf(), ({ clock }) => clock.advance(minutes(3)));
  expect(violated).toEqual([24]);
});

test("reverting the ports of a load balancer violates nothing while a watch may be silent", async () => {
  const violated = await withOldPorts(worldOf(), ({ clock }) => clock.advance(minutes(2)));
  expect(violated).toEqual([]);
});

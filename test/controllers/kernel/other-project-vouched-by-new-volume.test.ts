// Credentials of another project: objects that this connection created there prove nothing about the
// account.

import { afterEach, expect, test } from "bun:test";
import { type DoubtWorld, settled } from "./doubt-world.ts";

const all = ["nodes", "load-balancers", "routes", "volumes"] as const;

let world: DoubtWorld | undefined;
afterEach(async () => {
  await world?.stop();
  expect(world?.unexpectedErrors ?? []).toEqual([]);
  world = undefined;
});

test("a volume that is created in another project does not confirm the account, so nothing is deleted or recreated", async () => {
  const w = await settled({ nodes: 1, services: 1, claims: 1 }, all);
  world = w;
  await w.stop();
  w.project = "other";
  await w.start();
  w.setReady("node-0", "Unknown");
  w.deleteClaim("data-0");
  await w.pass(120);
  expect([w.nodes().length, w.volumes().length, w.cloudChanges]).toEqual([1, 1, []]);
  w.claim("new-0");
  await w.until(() => w.isBound("new-0"), "the first new claim");
  w.claim("new-1");
  await w.until(() => w.isBound("new-1"), "the second new claim");
  await w.pass(300);
  // In a later session, it does not vouch for it either.
  w.holdLease("another-program");
  await w.pass(20);
  w.holdLease("");
  await w.pass(600);
  // The Node, the PersistentVolume of the deleted claim and those of the new claims; no second load
  // balancer.
  expect([w.nodes().length, w.volumes().length, w.cloudChanges]).toEqual([
    1,
    3,
    ["POST /volumes", "POST /volumes"],
  ]);
});

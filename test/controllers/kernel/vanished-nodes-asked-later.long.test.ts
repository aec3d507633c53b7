// Nodes that vanish from the API server while the cloud does not answer for longer than the window of the limit.

import { afterEach, expect, test } from "bun:test";
import { type DoubtWorld, names, settled } from "./doubt-world.ts";

let world: DoubtWorld | undefined;
afterEach(async () => {
  await world?.stop();
  expect(world?.unexpectedErrors ?? []).toEqual([]);
  world = undefined;
});

async function afterOutage(vanished: number, outage: number) {
  const w = await settled({ nodes: 20, services: 3 }, ["load-balancers"]);
  world = w;
  const failing = { kind: "status", status: 503, calls: 1_000_000 } as const;
  if (outage > 0) w.cloud.faults.add({ ...failing, operation: "GET /balancers" });
  w.manager.balancers?.request(Number.POSITIVE_INFINITY, "refresh");
  await w.vanish(names("node", vanished), []);
  await w.pass(outage);
  w.cloud.faults.clear();
  await w.relist(900);
  return [w.targetCounts(), w.cloudChanges];
}

test.each([
  [5, 0],
  [5, 900],
  [18, 0],
  [18, 900],
])(
  "load balancers keep the targets of %i of 20 Nodes that vanished, although the cloud failed for %i s",
  async (vanished, outage) => {
    expect(await afterOutage(vanished, outage)).toEqual([[20], []]);
  },
);

test("load balancers keep the targets of 18 of 20 Nodes that vanished 15 minutes before a standby replica began to lead", async () => {
  const w = await settled({ nodes: 20, services: 3 }, ["load-balancers"]);
  world = w;
  for (let time = 0; time < 60; time += 5) {
    w.holdLease("another-replica");
    await w.pass(5);
  }
  const { faults } = w.server;
  faults.intercept = (_, { verb, plural }) => (verb === "watch" && plural === "nodes" ? "drop" : undefined);
  for (let time = 0; time < 300; time += 5) {
    w.holdLease("another-replica");
    await w.pass(5);
  }
  w.removeUnseen(names("node", 18), []);
  w.server.compact();
  faults.intercept = undefined;
  for (let time = 0; time < 900; time += 5) {
    w.holdLease("another-replica");
    await w.pass(5);
  }
  w.forget();
  await w.until(() => w.manager.leads(), "it to lead", 120);
  await w.relist(900);
  expect([w.targetCounts(), w.cloudChanges]).toEqual([[20], []]);
});

// First creations while the API server is in doubt, because Nodes or Services vanished without a
// seen deletion. The cloud is trusted, and shows everything.

import { afterEach, expect, test } from "bun:test";
import { type DoubtWorld, names, settled } from "./doubt-world.ts";

let world: DoubtWorld | undefined;
afterEach(async () => {
  await world?.stop();
  expect(world?.unexpectedErrors ?? []).toEqual([]);
  world = undefined;
});

test.each(["status", "lost-answer"] as const)(
  "a Node that joins gets its route although the first request ended with a %s, while routes of vanished Nodes are held",
  async (kind) => {
    const w = await settled({ nodes: 10 }, ["routes"]);
    world = w;
    await w.vanish(names("node", 3), []);
    await w.pass(300);
    expect(w.held("routes")).toHaveLength(3);
    w.cloud.faults.add({ kind, operation: "POST /routes", status: 500 });
    w.join("new-0");
    await w.pass(1800);
    const ranges = w.cloud.routes.list().map(({ destination }) => String(destination));
    expect([ranges.includes(w.rangeOf("new-0")), w.held("routes").length]).toEqual([true, 3]);
  },
);

test.each(["status", "lost-answer"] as const)(
  "a new Service gets its address although the first request ended with a %s, while load balancers of vanished Services are held",
  async (kind) => {
    const w = await settled({ nodes: 2, services: 10 }, ["load-balancers"]);
    world = w;
    await w.vanish([], names("web", 3));
    await w.relist(300);
    expect(w.held("load-balancers")).toHaveLength(3);
    w.cloud.faults.add({ kind, operation: "POST /balancers", status: 500 });
    w.create("new");
    await w.pass(1800);
    expect([w.addressesOf("new").length, w.held("load-balancers").length]).toEqual([1, 3]);
  },
);

import { expect, test } from "bun:test";
import { runsAllTests } from "../../../src/testing/breadth.ts";
import { ServiceWorld } from "../../support/service-world.ts";

// Scale: cloud requests for 200 Services and 1,000 Nodes on a cloud that responds within 20 ms.

test.if(runsAllTests)(
  "200 Services cost one request each and a listing with any number of Nodes, two to delete, and a restart costs one listing [F26 F51 N5]",
  async () => {
    const w = new ServiceWorld({ nodes: 1000 });
    const names = Array.from({ length: 200 }, (_, index) => `s${index}`);
    await w.start();
    await w.pass(30);
    w.forget();

    const began = w.clock.monotonic();
    for (const name of names) w.create(name);
    await w.until(() => names.every((name) => w.addressesOf(name).length === 1), "all addresses");
    expect(w.clock.monotonic() - began).toBeLessThanOrEqual(2700);
    await w.pass(60);
    expect(w.asked.length).toBeLessThanOrEqual(230);
    expect(w.owners()).toEqual(w.wanted());

    w.forget();
    const joined = w.clock.monotonic();
    w.addNode("one-more");
    const has = () => w.cloud.balancers.list().every(({ targets }) => targets.length === 1001);
    await w.until(has, "the new node everywhere");
    expect(w.clock.monotonic() - joined).toBeLessThanOrEqual(1000);
    await w.pass(60);
    expect(w.changes).toHaveLength(200);
    expect(w.asked.length).toBeLessThanOrEqual(210);

    await w.stop();
    w.forget();
    await w.start();
    await w.pass(120);
    expect(w.changes).toEqual([]);
    expect(w.written).toEqual([]);
    expect(w.cloud.seen.length).toBeLessThanOrEqual(30);

    w.forget();
    const deleted = w.clock.monotonic();
    for (const name of names) w.delete(name);
    await w.until(() => w.services().length === 0, "all Services gone");
    expect(w.clock.monotonic() - deleted).toBeLessThanOrEqual(1100);
    await w.pass(60);
    // Each is deleted, and looked up afterwards.
    expect(w.asked.length).toBeLessThanOrEqual(410);
    expect(w.owners()).toEqual([]);
    await w.stop();
  },
);

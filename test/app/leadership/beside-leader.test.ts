import { expect, test } from "bun:test";
import { ServiceWorld } from "../../support/service-world.ts";

test("a manager with --leader-elect=false warns once when another manager renews the Lease", async () => {
  const w = new ServiceWorld();
  const warnings = () => w.logged.filter((line) => line.includes("renews the Lease"));
  await w.start("--leader-elect=true");
  await w.pass(5);
  await w.stop();
  w.holdLease("stopped_1");
  await w.start("--leader-elect=false");
  await w.pass(60);
  expect(warnings()).toEqual([]);
  for (let second = 0; second < 1300; second += 1) {
    w.holdLease("m2_b");
    await w.pass(1);
  }
  expect(warnings()).toHaveLength(1);
  expect(warnings()[0]).toContain(
    "m2_b renews the Lease kube-system/cloud-controller-manager, and a manager with --leader-elect=false does not wait for it. Both change the same Nodes",
  );
  await w.stop();
});

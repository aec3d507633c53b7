import { afterEach, expect, test } from "bun:test";
import { milliseconds } from "../../../src/core/brand.ts";
import { ServiceWorld } from "../../support/service-world.ts";

// Which writes each Lease allows, and until when.

let world: ServiceWorld | undefined;
afterEach(async () => {
  await world?.stop();
});

test("reconciles Services under their own Lease while another replica holds the main Lease", async () => {
  const w = new ServiceWorld();
  world = w;
  await w.start("--leader-elect=true", "--enable-leader-migration=true");
  w.create("before");
  await w.until(() => w.addressesOf("before").length > 0, "the first balancer");
  for (let time = 0; time < 60; time += 2) {
    w.holdLease("another");
    if (time === 30) w.create("after");
    await w.pass(2);
  }
  expect(w.addressesOf("after")).toHaveLength(1);
});

test("writes nothing in the last two seconds before the Lease can expire", async () => {
  let isRefused = false;
  const w = new ServiceWorld({
    authorize: (_, { resource, verb }) => !(isRefused && resource === "leases" && verb === "update"),
  });
  world = w;
  await w.start("--leader-elect=true", "--leader-elect-renew-deadline=14500ms");
  await w.until(() => w.manager.leads(), "this replica to lead");
  await w.pass(10);
  isRefused = true;
  const renewedAt = Date.parse(
    String(w.server.store.get("leases", "kube-system", "cloud-controller-manager")?.spec?.["renewTime"]),
  );
  let last = 0;
  while (w.manager.leads()) {
    last = w.clock.now() - renewedAt;
    await w.clock.advance(milliseconds(100));
  }
  expect(last).toBeLessThan(13_000);
  expect(last).toBeGreaterThan(12_000);
});

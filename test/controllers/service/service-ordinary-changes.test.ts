// Ordinary changes of many Services: Fairlead reports neither its own changes nor those of the cloud as a fault or drift.

import { expect, test } from "bun:test";
import { asTransport } from "#ccm/testing";
import { FakeCloud } from "../../../providers/fake/simulator/fake-cloud.ts";
import { milliseconds } from "../../../src/core/brand.ts";
import { sleep } from "../../../src/platform/clock.ts";
import { seededRandom } from "../../../src/platform/random.ts";
import { runsAllTests } from "../../../src/testing/breadth.ts";
import { lagListings } from "../../support/lagging-view.ts";
import { ServiceWorld } from "../../support/service-world.ts";

const names = Array.from({ length: runsAllTests ? 200 : 40 }, (_, index) => `s${index}`);

/** Services with their load balancers, in a cloud whose requests take 5 to 300 ms, before and after they take effect. */
async function settledWorld(seed: number): Promise<ServiceWorld> {
  const random = seededRandom(seed);
  let cloud: FakeCloud | undefined;
  const w = new ServiceWorld({
    seed,
    cloud: (clock) => {
      cloud = new FakeCloud({ clock });
      const direct = asTransport(cloud);
      const wait = (signal: AbortSignal) =>
        sleep(clock, milliseconds(5 + Math.floor(300 * random.fraction() ** 3)), signal);
      return async (request, signal) => {
        await wait(signal);
        const answer = await direct(request, signal);
        await wait(signal);
        return answer;
      };
    },
  });
  for (const [index] of w.server.store.list("nodes").entries()) cloud?.machines.add(`node-${index}`);
  await w.start("--leader-elect=true", "--config-set=page-size=10");
  for (const name of names) w.create(name);
  await w.until(() => names.every((name) => w.addressesOf(name).length === 1), "all addresses");
  await w.pass(60);
  w.logged.length = 0;
  return w;
}

test("deletes 200 Services without a warning, however long the requests take [F26]", async () => {
  for (let seed = 1; seed <= (runsAllTests ? 10 : 2); seed += 1) {
    const w = await settledWorld(seed);
    for (const name of names) w.delete(name);
    await w.until(() => w.services().length === 0, "all deletions");
    await w.pass(60);
    const warnings = names.flatMap((name) => w.events(name)).filter((event) => event.startsWith("Warning"));
    const reasons = Map.groupBy(warnings, (event) => event.split(" ")[1] ?? "");
    const counts = [...reasons].map(([reason, events]) => `${events.length} ${reason}`);
    expect([seed, counts, w.logged.filter((line) => /mass limit|absent/i.test(line))]).toEqual([
      seed,
      [],
      [],
    ]);
    await w.stop();
  }
});

test("raises no mass-limit alarm for load balancers that a lagging listing does not show yet", async () => {
  const w = new ServiceWorld();
  await w.start("--leader-elect=true");
  await w.pass(30);
  lagListings(w, 2);
  const alarms = () => w.logged.filter((line) => line.includes("absent from the cloud"));
  for (const name of names.slice(0, 6)) {
    w.create(name);
    await w.pass(0.2);
    w.manager.balancers?.request(Number.POSITIVE_INFINITY, "refresh");
  }
  await w.pass(120);
  expect([w.changes.length, alarms()]).toEqual([6, []]);
  // Load balancers count when they are absent for longer than the confirmation time.
  for (const { id } of w.cloud.balancers.list()) w.cloud.balancers.remove(id);
  for (let second = 0; second < 60; second += 5) {
    w.manager.balancers?.request(Number.POSITIVE_INFINITY, "refresh");
    await w.pass(5);
  }
  expect([w.changes.length, alarms().length]).toEqual([6, 1]);
  expect(w.manager.report().balancersOnHold.map(({ reason }) => reason)).toContain("MassRecreationHeld");
  await w.stop();
});

test("reports a failed listing as an event, and as a condition only if the failure lasts", async () => {
  const w = new ServiceWorld();
  await w.start();
  const conditionsAfter = async (name: string, calls: number, time: number) => {
    w.cloud.faults.add({ kind: "status", status: 403, operation: "GET /balancers", calls });
    w.create(name);
    await w.pass(time);
    return w.conditionsOf(name).map(({ reason }) => reason);
  };
  expect(await conditionsAfter("short", 1, 0.5)).toEqual([]);
  await w.pass(1);
  expect(w.events("short").join("\n")).toContain("SyncLoadBalancerFailed");
  await w.until(() => w.addressesOf("short").length === 1, "the address");
  expect(w.written.filter((path) => path.endsWith("/short/status"))).toHaveLength(2);
  expect(await conditionsAfter("long", 1000, 120)).toEqual(["CloudPermissionMissing"]);
  await w.stop();
});

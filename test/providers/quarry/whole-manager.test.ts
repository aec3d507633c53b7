// What a whole manager does with a pool whose creation failed (it can only be deleted, and its Service still needs one).

import { expect, test } from "bun:test";
import type { Context } from "#ccm";
import { readSettings } from "#ccm/testing";
import { quarryCloud } from "../../support/quarry/index.ts";
import type { PoolStep } from "../../support/quarry/plan-pool.ts";
import { simulatedConfig, simulateRegions } from "../../support/quarry/simulator/harness.ts";
import { ServiceWorld } from "../../support/service-world.ts";

interface Sent {
  readonly at: number;
  readonly what: string;
}
type Plan = NonNullable<ReturnType<typeof quarryCloud.connect>["loadBalancers"]>["plan"];

interface Play {
  /** The number of pool creations that fail. */
  readonly failures?: number;
  /** Changes the plan of the provider. */
  readonly changed?: (plan: Plan) => Plan;
}

/** Plays `time` seconds with one Service. */
async function play(
  time: number,
  { failures = 0, changed = (plan) => plan }: Play = {},
): Promise<{ readonly w: ServiceWorld; readonly sent: readonly Sent[] }> {
  const connect = (_settings: unknown, context: Context) => {
    const { values } = readSettings(quarryCloud.config, simulatedConfig, { what: "setting" });
    const cloud = quarryCloud.connect(values, context);
    const { loadBalancers } = cloud;
    if (loadBalancers === undefined) throw new Error("Quarry has load balancers.");
    return { ...cloud, loadBalancers: { ...loadBalancers, plan: changed(loadBalancers.plan) } };
  };
  const w = new ServiceWorld({
    provider: { ...quarryCloud, config: {}, connect },
    nodes: 0,
    cloud: (clock) => {
      const { east, transport } = simulateRegions(clock);
      east.failures = failures;
      return transport;
    },
  });
  const sent: Sent[] = [];
  w.onCrossing = (what, when) => {
    if (when === "before" && what.includes("/pools")) sent.push({ at: w.clock.monotonic() / 1000, what });
  };
  await w.start();
  w.create("web", { spec: { ports: [{ port: 80, nodePort: 30080, protocol: "TCP" }] } });
  await w.pass(time);
  return { w, sent };
}

const timesOf = (sent: readonly Sent[], start: string) =>
  sent.flatMap(({ at, what }) => (what.startsWith(start) ? at : []));

const createdAt = (sent: readonly Sent[]) =>
  sent.flatMap(({ at, what }) => (what === "POST /pools" ? at : []));
const deletedAt = (sent: readonly Sent[]) => timesOf(sent, "DELETE /pools/");

test("creates a load balancer immediately after the manager's own plan deleted a broken load balancer [F53]", async () => {
  const { w, sent } = await play(60, { failures: 1 });
  const [deleted = 0] = deletedAt(sent);
  const [, again = 0] = createdAt(sent);
  expect(again - deleted).toBeWithin(0, 1);
  expect(w.events("web").join()).not.toContain("the cloud to list the load balancer");
  expect(w.addressesOf("web")).toHaveLength(1);
  await w.stop();
});

test("creates a load balancer at growing intervals while each new load balancer is broken", async () => {
  const { w, sent } = await play(600, { failures: 1000 });
  const [deleted, created] = [deletedAt(sent), createdAt(sent)];
  // The backoff of an invalid request ends at 30 s; after ten changes, plans that never converge are 2 s to 5 min apart.
  expect(created.length).toBeWithin(5, 12);
  const waits = deleted.map((at, index) => (created[index + 1] ?? 0) - at);
  expect(waits[0]).toBeLessThan(1);
  expect(waits.at(-1)).toBeGreaterThan(60);
  await w.stop();
});

test("waits with one event and rare lookups after the deletion of a broken load balancer that its step does not declare", async () => {
  const { w, sent } = await play(120, {
    failures: 1,
    changed:
      (plan) =>
      (...input) => {
        const { steps, ...rest } = plan(...input);
        return { ...rest, steps: steps.map(({ removes: _, ...step }) => step as PoolStep) };
      },
  });
  const [deleted = 0] = deletedAt(sent);
  const [, again = 0] = createdAt(sent);
  expect(again - deleted).toBeWithin(30, 40);
  const waits = w.events("web").filter((event) => event.includes("the cloud to list the load balancer"));
  expect(waits).toHaveLength(1);
  const reads = timesOf(sent, "GET /pools").filter((at) => at > deleted && at < again);
  expect(reads.length).toBeLessThan(16);
  await w.stop();
});

// What a whole manager does with a frontend that could not be built: it can only be deleted, and its Service still needs one.

import { expect, test } from "bun:test";
import { type Context, Secret } from "#ccm";
import { ServiceWorld } from "../../support/service-world.ts";
import { tidewater } from "./provider/index.ts";
import type { FrontendStep } from "./provider/plan-frontend.ts";
import { TidewaterCloud } from "./simulator/tidewater-cloud.ts";

interface Sent {
  readonly at: number;
  readonly what: string;
}

/** Plays `time` seconds in which the cloud fails to build the first `failures` frontends. */
async function play(
  time: number,
  failures: number,
  change: (step: FrontendStep) => FrontendStep = (step) => step,
  begin: (uid: string, cloud: TidewaterCloud) => void = () => undefined,
): Promise<{ readonly w: ServiceWorld; readonly sent: readonly Sent[] }> {
  const connect = (_settings: unknown, context: Context) => {
    const cloud = tidewater.connect({ key: new Secret("tide") }, context);
    const { loadBalancers } = cloud;
    if (loadBalancers === undefined) throw new Error("Tidewater has load balancers.");
    const plan: typeof loadBalancers.plan = (...input) => {
      const planned = loadBalancers.plan(...input);
      return { ...planned, steps: planned.steps.map(change) };
    };
    return { ...cloud, loadBalancers: { ...loadBalancers, plan } };
  };
  const clouds: TidewaterCloud[] = [];
  const w = new ServiceWorld({
    provider: { ...tidewater, config: {}, connect },
    nodes: 0,
    cloud: (clock) => {
      const cloud = new TidewaterCloud({ clock });
      clouds.push(cloud);
      return cloud.transport;
    },
  });
  const [simulated] = clouds;
  if (simulated === undefined) throw new Error("The world has no cloud.");
  simulated.faults.add({ kind: "fail-ticket", operation: "POST /frontends", calls: failures });
  const sent: Sent[] = [];
  w.onCrossing = (what, when) => {
    if (when === "before" && what.includes("/frontends"))
      sent.push({ at: w.clock.monotonic() / 1000, what: what.replace("/v3/", "/") });
  };
  await w.start();
  const service = w.create("web", { spec: { ports: [{ port: 80, nodePort: 30080, protocol: "TCP" }] } });
  begin(service.metadata.uid, simulated);
  await w.pass(time);
  return { w, sent };
}

const timesOf = (sent: readonly Sent[], start: string) =>
  sent.flatMap(({ at, what }) => (what.startsWith(start) ? at : []));

test("creates a load balancer at once after its own plan deleted a broken one [F53]", async () => {
  const { w, sent } = await play(60, 1);
  const [deleted = 0] = timesOf(sent, "DELETE /frontends/f-1");
  const [, again = 0] = timesOf(sent, "POST /frontends");
  // The deletion takes 3 s, and its ticket is checked every second.
  expect(again - deleted).toBeLessThan(5);
  expect(w.events("web").join()).not.toContain("the cloud to list the load balancer");
  expect(w.addressesOf("web")).toHaveLength(1);
  await w.stop();
});

test("tries less and less often while each new load balancer is broken too", async () => {
  const { w, sent } = await play(600, 1000);
  const times = timesOf(sent, "POST /frontends");
  // The backoff of a conflict ends at 30 s; after ten changes, plans that never converge are 2 s to 5 min apart.
  expect(times.filter((at) => at > 60).length).toBeWithin(2, 5);
  const gaps = times.slice(1).map((at, index) => at - (times[index] ?? 0));
  expect(gaps.at(-1)).toBeGreaterThan(60);
  await w.stop();
});

test("waits with one event and rare lookups after a deletion that its step does not declare", async () => {
  const { w, sent } = await play(60, 1, ({ removes: _, ...step }) => step);
  const [deleted = 0] = timesOf(sent, "DELETE /frontends/f-1");
  const [, again = 0] = timesOf(sent, "POST /frontends");
  expect(again - deleted).toBeWithin(30, 40);
  const waits = w.events("web").filter((event) => event.includes("the cloud to list the load balancer"));
  expect(waits).toHaveLength(1);
  const reads = timesOf(sent, "GET /frontends").filter((at) => at > deleted && at < again);
  expect(reads.length).toBeLessThan(16);
  await w.stop();
});

test("names the frontend that keeps the label of a released one, and creates none until it is deleted", async () => {
  const { w, sent } = await play(60, 0, undefined, (uid, { zones }) => {
    const label = `a${uid.replaceAll("-", "")}`.slice(0, 32);
    zones.north.frontends.add({ label, tags: { team: "web" }, class: "compact", allow: null });
    zones.north.frontends.listing.catchUp();
  });
  expect(w.events("web").join()).toContain("Warning LabelTaken Frontend north/f-1 has the label a");
  expect(timesOf(sent, "POST /frontends")).toEqual([]);
  await w.stop();
});

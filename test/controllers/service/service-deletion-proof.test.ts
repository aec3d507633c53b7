import { expect, test } from "bun:test";
import { trueView } from "../../../providers/fake/simulator/view.ts";
import { ServiceWorld } from "../../support/service-world.ts";

// A cloud that reports a deletion as done, but keeps the load balancer. The Service keeps its finalizer until the load balancer
// is gone.

async function settledWorld(): Promise<ServiceWorld> {
  const w = new ServiceWorld();
  await w.start();
  w.create("web");
  await w.until(() => w.addressesOf("web").length === 1, "an address");
  w.forget();
  return w;
}

/** Makes the next listings empty. */
function hideFor(w: ServiceWorld, milliseconds: number, from: "listing" | "both"): void {
  const until = w.clock.monotonic() + milliseconds;
  w.cloud.view = {
    ...trueView,
    balancers: (existing, read) =>
      w.clock.monotonic() < until && (from === "both" || read === from) ? [] : existing,
  };
}

/** The next deletions return 204 without having an effect. */
function ignoreDeletions(w: ServiceWorld, calls: number): void {
  const { balancers } = w.cloud;
  const remove = balancers.remove.bind(balancers);
  let left = calls;
  balancers.remove = (id) => {
    if (left > 0) left -= 1;
    else remove(id);
  };
}

const isConsistent = (w: ServiceWorld): boolean =>
  w.find("web") !== undefined || w.cloud.balancers.list().length === 0;

/** Whether the Service existed for as long as its load balancer. */
async function deleteAndWatch(w: ServiceWorld): Promise<boolean> {
  w.delete("web");
  let wasConsistent = true;
  for (let time = 0; time < 120; time += 0.5) {
    await w.pass(0.5);
    wasConsistent &&= isConsistent(w);
  }
  return wasConsistent;
}

test("keeps the finalizer when a deletion had no effect and a listing hides the load balancer", async () => {
  const w = await settledWorld();
  ignoreDeletions(w, 1);
  hideFor(w, 5000, "listing");
  // The earlier listing still shows the load balancer.
  expect(await deleteAndWatch(w)).toBe(true);
  expect([w.find("web"), w.cloud.balancers.list()]).toEqual([undefined, []]);
  await w.stop();
});

test("keeps the finalizer when a deletion returns 404 and all reads hide the load balancer", async () => {
  const w = await settledWorld();
  w.cloud.faults.add({ kind: "status", status: 404, code: "not_found", operation: "DELETE /balancers/{id}" });
  hideFor(w, 20_000, "both");
  expect(await deleteAndWatch(w)).toBe(true);
  expect([w.find("web"), w.cloud.balancers.list()]).toEqual([undefined, []]);
  await w.stop();
});

test("deletes a Service within two seconds when the cloud no longer finds its load balancer", async () => {
  const w = await settledWorld();
  w.delete("web");
  await w.until(() => w.find("web") === undefined, "the deletion", 2);
  expect(w.asked.filter((what) => what !== "GET /balancers")).toEqual([
    "DELETE /balancers/b1",
    "GET /balancers/b1",
  ]);
  expect(w.events("web").join("\n")).not.toContain("LoadBalancerMissing");
  await w.stop();
});

test("deletes a Service after two listings when the lookup of its deleted load balancer fails", async () => {
  const w = await settledWorld();
  w.cloud.faults.add({ kind: "status", status: 503, operation: "GET /balancers/{id}" });
  w.delete("web");
  await w.pass(29);
  expect(w.find("web")).toBeDefined();
  expect(w.events("web").join("\n")).toContain("proof that the load balancer is gone");
  await w.until(() => w.find("web") === undefined, "the deletion", 6);
  await w.stop();
});

test("observe mode does not list repeatedly for deletions that it only reports, however long a listing takes", async () => {
  const w = new ServiceWorld({ latency: 6000 });
  await w.start();
  for (const name of ["web", "mail"]) w.create(name);
  await w.until(() => w.addressesOf("web").length + w.addressesOf("mail").length === 2, "the addresses", 120);
  await w.stop();
  await w.start("--mode=observe");
  for (const name of ["web", "mail"]) w.delete(name);
  await w.pass(120);
  w.forget();
  w.annotate("mail", { "fairlead.dev/on-delete": "release" });
  await w.pass(600);
  expect(w.cloud.seen.filter(({ operation }) => operation === "GET /balancers").length).toBeLessThan(5);
  await w.stop();
});

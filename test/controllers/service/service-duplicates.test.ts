import { expect, test } from "bun:test";
import { primaryOf } from "../../../src/controllers/service/observe/ownership.ts";
import type { ObservedLoadBalancer } from "../../../src/provider/load-balancers.ts";
import { problemsOf } from "../../support/service-problems.ts";
import { ServiceWorld } from "../../support/service-world.ts";

// Several load balancers with the mark of one Service, for example left by another process or a lost response.

async function duplicatedWorld(): Promise<ServiceWorld> {
  const w = new ServiceWorld();
  w.cloud.balancers.hasUniqueNames = false;
  await w.start();
  w.create("web");
  await w.until(() => w.addressesOf("web").length === 1, "the address");
  return w;
}

function createSecond(w: ServiceWorld): void {
  const [first] = w.cloud.balancers.list();
  if (first === undefined) throw new Error("There is no load balancer.");
  const { id: _, ip: __, status: ___, ipv6: ____, ...spec } = first;
  w.cloud.balancers.create(spec);
}

/** A second load balancer that is listed before the first one. */
async function duplicate(w: ServiceWorld): Promise<void> {
  createSecond(w);
  const original = w.cloud.view;
  w.cloud.view = { ...original, balancers: (existing) => existing.toReversed() };
  await w.pass(3600);
}

test("reports a second load balancer of a Service, and keeps using the load balancer with the published address", async () => {
  const w = await duplicatedWorld();
  const addresses = w.addressesOf("web");
  w.forget();
  await duplicate(w);
  expect(w.events("web")).toContain(
    "Warning DuplicateLoadBalancer The cloud has 2 load balancers with the mark of this Service. Fairlead manages b1 and does not change the others (b2). Delete the others in the cloud. Or delete the Service, which deletes all of them.",
  );
  expect(w.manager.report().orphans.map(({ name }) => name)).toEqual(["b2"]);
  expect(w.logged.join()).toContain("(b2)");
  w.addNode("late");
  await w.pass(30);
  expect(w.changes).toEqual(["PATCH /balancers/b1"]);
  expect(w.addressesOf("web")).toEqual(addresses);
  w.cloud.balancers.remove("b2");
  await w.pass(3600);
  expect(w.manager.report().orphans).toEqual([]);
  expect(problemsOf(w.manager)).toEqual([]);
  await w.stop();
});

test("a load balancer that a listing repeats is not a duplicate", async () => {
  const w = await duplicatedWorld();
  w.forget();
  w.cloud.view = { ...w.cloud.view, balancers: (existing) => [...existing, ...existing] };
  await w.pass(3600);
  w.addNode("late");
  await w.pass(30);
  expect(w.events("web").filter((event) => event.includes("DuplicateLoadBalancer"))).toEqual([]);
  expect(w.manager.report().orphans).toEqual([]);
  expect(w.changes).toEqual(["PATCH /balancers/b1"]);
  await w.stop();
});

test("a deleted Service keeps its finalizer until all its load balancers are deleted", async () => {
  const w = await duplicatedWorld();
  await duplicate(w);
  let left = 0;
  w.onCrossing = (what, when) => {
    if (when === "before" && what.startsWith("PATCH") && what.includes("/services/web")) {
      left = Math.max(left, w.cloud.balancers.list().length);
    }
  };
  w.delete("web");
  await w.until(() => w.find("web") === undefined, "the end", 60);
  expect([left, w.cloud.balancers.list()]).toEqual([0, []]);
  await w.stop();
});

test("a Service that is released with a duplicate names both load balancers", async () => {
  const w = await duplicatedWorld();
  w.annotate("web", { "fairlead.dev/on-delete": "release" });
  await duplicate(w);
  const [first] = w.cloud.balancers.list();
  w.cloud.balancers.change("b2", { name: "second" });
  w.manager.balancers?.request(Number.POSITIVE_INFINITY, "refresh");
  await w.pass(60);
  expect(w.events("web").findLast((text) => text.includes("DuplicateLoadBalancer"))).toEndWith(
    "Delete the others in the cloud. Deleting the Service releases all of them, as on-delete requires, and they stay in the cloud.",
  );
  w.delete("web");
  await w.until(() => w.find("web") === undefined, "the end", 60);
  expect(w.owners()).toEqual(["", ""]);
  await w.pass(1);
  expect(w.events("web").at(-1)).toStartWith(
    `Normal ReleasedLoadBalancer Released load balancer ${first?.name} (b1) with the address 192.0.2.1, second (b2) with the address 192.0.2.2: it stays`,
  );
  await w.stop();
});

test("manages the load balancer in use, else the former one, else a ready candidate, else the first candidate", () => {
  const of = (name: string, state: ObservedLoadBalancer["state"]): ObservedLoadBalancer => ({
    name,
    owners: [],
    ownership: "ours",
    state,
  });
  const [failed, ready, other] = [of("a", "failed"), of("b", "ready"), of("c", "ready")];
  const chosen = (
    given: readonly ObservedLoadBalancer[],
    used = "",
    managed = "",
    others: readonly string[] = [],
  ) =>
    primaryOf(given, {
      isInUse: ({ name }) => name === used,
      isManaged: ({ name }) => name === managed,
      isOther: ({ name }) => others.includes(name),
    })?.name;
  expect(chosen([failed, ready, other], "c", "b")).toBe("c");
  expect(chosen([failed, ready, other], "", "a")).toBe("a");
  expect(chosen([failed, ready, other])).toBe("b");
  expect(chosen([failed, ready, other], "", "", ["b"])).toBe("c");
  expect(chosen([failed, ready, other], "", "", ["b", "c"])).toBe("a");
  expect(chosen([failed, ready], "", "", ["a", "b"])).toBe("b");
  expect(chosen([failed])).toBe("a");
});

test("reports the second load balancer within two minutes when a creation takes effect 45 s after it failed", async () => {
  const w = new ServiceWorld();
  w.cloud.balancers.hasUniqueNames = false;
  await w.start();
  await w.pass(30);
  w.cloud.faults.add({ kind: "reset", operation: "POST /balancers" });
  w.create("web");
  await w.pass(45);
  const [made] = w.cloud.balancers.list();
  if (made === undefined)
    throw new Error("Expected a second creation, after the proof that the first one failed.");
  await w.pass(10);
  const { id: _, ip: __, ipv6: ___, status: ____, ...late } = made;
  w.cloud.balancers.create(late);
  w.forget();
  await w.until(
    () => w.events("web").some((event) => event.includes("DuplicateLoadBalancer")),
    "the report",
    120,
  );
  await w.pass(3600);
  expect(w.changes).toEqual([]);
  // Two further checks, and the refreshes of an hour.
  expect(w.asked.length).toBeLessThan(12);
  await w.stop();
});

/** Listings and lookups show only the second load balancer. */
function hideFirst(w: ServiceWorld): void {
  const original = w.cloud.view;
  w.cloud.view = {
    ...original,
    balancers: (existing, kind) => original.balancers(existing, kind).filter(({ id }) => id !== "b1"),
  };
}

async function hideFirstForAWhile(w: ServiceWorld): Promise<void> {
  const shown = w.cloud.view;
  hideFirst(w);
  await w.pass(20);
  w.cloud.view = shown;
  await w.pass(120);
}

test.each([
  ["its targets change", (w: ServiceWorld) => w.addNode("late")],
  ["its ports change", (w: ServiceWorld) => w.editSpec("web", { ports: [{ port: 81, protocol: "TCP" }] })],
])("does not manage a duplicate that a listing shows without the original after %s", async (_, change) => {
  const w = await duplicatedWorld();
  const addresses = w.addressesOf("web");
  await duplicate(w);
  w.forget();
  change(w);
  await w.until(() => w.changes.length > 0, "the change");
  await hideFirstForAWhile(w);
  expect([w.addressesOf("web"), w.changes]).toEqual([addresses, ["PATCH /balancers/b1"]]);
  await w.stop();
});

test.each([
  [1, "a duplicate that the first listing of a leader shows without the original is not managed"],
  [2, "two duplicates that the first listing of a leader shows without the original are not managed"],
] as const)("%i: %s", async (count) => {
  const w = await duplicatedWorld();
  const addresses = w.addressesOf("web");
  await duplicate(w);
  if (count === 2) createSecond(w);
  await w.stop();
  const shown = w.cloud.view;
  hideFirst(w);
  w.forget();
  await w.start();
  await w.pass(20);
  w.cloud.view = shown;
  await w.pass(120);
  expect([w.addressesOf("web"), w.changes]).toEqual([addresses, []]);
  await w.stop();
});

test("does not manage a second load balancer that a listing first shows without the original after a change of targets", async () => {
  const w = await duplicatedWorld();
  const addresses = w.addressesOf("web");
  w.forget();
  w.addNode("late");
  await w.until(() => w.changes.length > 0, "the change");
  createSecond(w);
  await hideFirstForAWhile(w);
  expect([w.addressesOf("web"), w.changes]).toEqual([addresses, ["PATCH /balancers/b1"]]);
  await w.stop();
});

test("manages a duplicate once the load balancer of a Service is proved to be gone", async () => {
  const w = await duplicatedWorld();
  await duplicate(w);
  w.addNode("late");
  w.cloud.balancers.remove("b1");
  await w.until(() => w.addressesOf("web").join() === "192.0.2.2", "the other address", 300);
  await w.stop();
});

/** The cloud changes the first load balancer, which then publishes no address. */
const showChanging = (w: ServiceWorld): (() => void) => {
  const shown = w.cloud.view;
  w.cloud.view = {
    ...shown,
    balancers: (existing, kind) =>
      shown
        .balancers(existing, kind)
        .map((one) => (one.id === "b1" ? { ...one, status: "changing" as const } : one)),
  };
  return () => {
    w.cloud.view = shown;
  };
};

test.each(["the same", "a new"])(
  "%s leader keeps the address of a Service while the cloud changes its load balancer beside a ready duplicate",
  async (leader) => {
    const w = await duplicatedWorld();
    const addresses = w.addressesOf("web");
    await duplicate(w);
    if (leader === "a new") await w.stop();
    w.forget();
    const end = showChanging(w);
    if (leader === "a new") await w.start();
    else w.addNode("late");
    w.manager.balancers?.request(Number.POSITIVE_INFINITY, "refresh");
    await w.pass(60);
    expect(w.addressesOf("web")).toEqual(addresses);
    end();
    await w.pass(300);
    expect([w.addressesOf("web"), w.changes.filter((change) => change.includes("b2"))]).toEqual([
      addresses,
      [],
    ]);
    await w.stop();
  },
);

test.each(["deleted", "released"])(
  "a Service that is %s keeps its finalizer when the first listing of a leader shows only the duplicate",
  async (end) => {
    const w = await duplicatedWorld();
    if (end === "released") w.annotate("web", { "fairlead.dev/on-delete": "release" });
    await duplicate(w);
    await w.stop();
    const shown = w.cloud.view;
    hideFirst(w);
    w.delete("web");
    await w.start();
    await w.pass(20);
    expect(w.find("web")).toBeDefined();
    w.cloud.view = shown;
    await w.until(() => w.find("web") === undefined, "the end", 600);
    await w.pass(60);
    expect(w.owners()).toEqual(end === "released" ? ["", ""] : []);
    await w.stop();
  },
);

import { expect, test } from "bun:test";
import { possibleOwners } from "../../../src/controllers/service/observe/ownership.ts";
import {
  type ServedClasses,
  servedClasses,
  servesWithoutClass,
} from "../../../src/controllers/service/served-classes.ts";
import { seededRandom } from "../../../src/platform/random.ts";
import { lbFinalizer, ServiceWorld } from "../../support/service-world.ts";
import { type ServiceDraft, toService } from "./service-draft.ts";

// Two managers in one cluster. Each serves its own Services, and writes nothing to the other
// manager's, whatever accounts they use.

const ofShop = "example.com/shop";
const ofOther = "example.com/other";
const shop = { loadBalancerClass: ofShop };
const shopFlags = [`--load-balancer-class=${ofShop}`, "--load-balancer-class-only"];
const shopFinalizer = servedClasses([ofShop], { only: true }).get(ofShop) as string;
const finalizersOf = (w: ServiceWorld, name: string): readonly string[] =>
  w.get(name).metadata.finalizers ?? [];
const accounts = ["same", "other"] as const;

async function twoManagers(account: (typeof accounts)[number], first: readonly string[] = []) {
  const rest = new ServiceWorld();
  const own = new ServiceWorld({ beside: { world: rest, account } });
  await rest.start(...first);
  await own.start(...shopFlags);
  return { rest, own };
}

/** The load balancers of a Service, by the world whose cloud has them. */
const idsOf = (w: ServiceWorld, name: string): readonly string[] => {
  const { uid } = w.get(name).metadata;
  return w.cloud.balancers.list().flatMap(({ id, labels }) => (labels["owner-uid"] === uid ? [id] : []));
};

const touches = (w: ServiceWorld, name: string): readonly string[] =>
  w.written.filter((what) => what.includes(`/services/${name}`));

test("the finalizer of a class never changes, and differs from the Go managers' finalizer [F105]", () => {
  const classes = servedClasses([ofShop, "shop", `example.com/${"x".repeat(63)}`], { only: false });
  expect([...classes.values()]).toEqual([
    lbFinalizer,
    "class.fairlead.dev/shop-f4ec2de5",
    "class.fairlead.dev/shop-0179cfc9",
    `class.fairlead.dev/${"x".repeat(50)}-4b2569e6`,
  ]);
});

test("serves Services of the class and Services without a class, and ignores other classes [F105]", async () => {
  const w = new ServiceWorld();
  await w.start(`--load-balancer-class=${ofShop}`);
  w.create("plain");
  w.create("shop", { spec: shop });
  w.create("other", { spec: { loadBalancerClass: ofOther } });
  await w.until(() => w.addressesOf("plain").length + w.addressesOf("shop").length === 2, "the addresses");
  await w.pass(60);
  expect(["plain", "shop", "other"].map((name) => finalizersOf(w, name))).toEqual([
    [lbFinalizer],
    [shopFinalizer],
    [],
  ]);
  w.delete("shop");
  await w.until(() => w.find("shop") === undefined, "the deletion");
  expect(w.cloud.balancers.list()).toHaveLength(1);
  expect(touches(w, "other")).toEqual([]);
  await w.stop();
});

test.each(accounts)(
  "each of two managers serves its own Services, and never writes to the other manager's, in the %s account [F105]",
  async (account) => {
    const { rest, own } = await twoManagers(account);
    rest.create("plain");
    rest.create("shop", { spec: shop });
    const isDone = () => rest.addressesOf("plain").length + rest.addressesOf("shop").length === 2;
    await rest.until(isDone, "both addresses");
    // Later than the regular listings, which show the load balancers of both.
    await rest.pass(3600);
    expect([finalizersOf(rest, "plain"), finalizersOf(rest, "shop")]).toEqual([
      [lbFinalizer],
      [shopFinalizer],
    ]);
    expect([idsOf(rest, "plain").length, idsOf(own, "shop").length]).toEqual([1, 1]);
    expect([touches(rest, "shop"), touches(own, "plain")]).toEqual([[], []]);
    expect([rest, own].map((w) => w.manager.report().orphans)).toEqual([[], []]);
    rest.delete("shop");
    await rest.until(() => rest.find("shop") === undefined, "the deletion");
    rest.delete("plain");
    await rest.until(() => rest.find("plain") === undefined, "the deletion");
    await rest.pass(60);
    expect([...rest.cloud.balancers.list(), ...own.cloud.balancers.list()]).toEqual([]);
    expect([touches(rest, "shop"), touches(own, "plain")]).toEqual([[], []]);
    await own.stop();
    await rest.stop();
  },
);

test.each(accounts)(
  "keeps the load balancer of the other manager through restarts of both, in the %s account [F105]",
  async (account) => {
    const { rest, own } = await twoManagers(account);
    rest.create("plain");
    rest.create("shop", { spec: shop });
    await rest.until(() => rest.addressesOf("plain").length + rest.addressesOf("shop").length === 2, "both");
    await own.stop();
    await rest.stop();
    for (const w of [rest, own]) w.forget();
    await own.start(...shopFlags);
    await rest.start();
    await rest.pass(3600);
    expect([rest.changes, own.changes, rest.written, own.written]).toEqual([[], [], [], []]);
    await own.stop();
    await rest.stop();
  },
);

test("keeps the load balancer when the class is no longer served, and removes it when the class is served again [F105]", async () => {
  const w = new ServiceWorld();
  await w.start(`--load-balancer-class=${ofShop}`);
  w.create("shop", { spec: shop });
  await w.until(() => w.addressesOf("shop").length === 1, "the address");
  await w.stop();
  w.forget();
  await w.start();
  await w.pass(3600);
  w.delete("shop");
  await w.pass(3600);
  expect([w.changes, w.written, finalizersOf(w, "shop")]).toEqual([[], [], [shopFinalizer]]);
  expect(w.manager.report().orphans).toEqual([]);
  await w.stop();
  await w.start(`--load-balancer-class=${ofShop}`);
  await w.until(() => w.find("shop") === undefined, "the deletion");
  expect(w.cloud.balancers.list()).toEqual([]);
  await w.stop();
});

test("does not clean up a ClusterIP Service that has the finalizer of another manager [F105]", async () => {
  const { rest, own } = await twoManagers("same");
  rest.create("plain");
  rest.create("shop", { spec: shop });
  await rest.until(() => rest.addressesOf("plain").length + rest.addressesOf("shop").length === 2, "both");
  await own.stop();
  await rest.stop();
  for (const name of ["plain", "shop"]) rest.editSpec(name, { type: "ClusterIP" });
  for (const w of [rest, own]) w.forget();
  await own.start(...shopFlags);
  await rest.pass(600);
  expect([touches(own, "plain"), finalizersOf(rest, "plain"), finalizersOf(rest, "shop")]).toEqual([
    [],
    [lbFinalizer],
    [],
  ]);
  await own.stop();
  await rest.start();
  await rest.until(() => finalizersOf(rest, "plain").length === 0, "the clean-up");
  expect(touches(rest, "shop")).toEqual([]);
  expect(rest.cloud.balancers.list()).toEqual([]);
  await rest.stop();
});

test("moves a Service between two accounts when it changes its type and gets the other class [F105]", async () => {
  const { rest, own } = await twoManagers("other");
  rest.create("web");
  await rest.until(() => idsOf(rest, "web").length === 1, "the first load balancer");
  rest.editSpec("web", { type: "ClusterIP" });
  rest.editSpec("web", { type: "LoadBalancer", ...shop });
  await rest.until(() => finalizersOf(rest, "web").join() === shopFinalizer, "the other finalizer");
  await rest.until(
    () => idsOf(own, "web").length === 1 && rest.addressesOf("web").length === 1,
    "the other one",
  );
  expect(rest.cloud.balancers.list()).toEqual([]);
  await rest.pass(120);
  const [balancer] = own.cloud.balancers.list();
  expect(rest.addressesOf("web")).toEqual([balancer?.ip ?? "none"]);
  await own.stop();
  await rest.stop();
});

test("leaves the condition of a manager that has not added its finalizer yet [F105]", async () => {
  const { rest, own } = await twoManagers("other");
  own.cloud.faults.add({ operation: "GET /balancers", kind: "status", status: 401, calls: 1000 });
  rest.create("shop", { spec: shop });
  await rest.until(() => rest.conditionsOf("shop").length > 0, "the condition", 600);
  await own.stop();
  // A manager that starts now sees the Service for the first time.
  await rest.stop();
  rest.forget();
  await rest.start();
  await rest.pass(120);
  expect([finalizersOf(rest, "shop"), touches(rest, "shop")]).toEqual([[], []]);
  await rest.stop();
});

test("leaves the condition of a ClusterIP Service that another manager cleans up [F105]", async () => {
  const w = new ServiceWorld();
  w.create("shop", { spec: { type: "ClusterIP" }, finalizers: [shopFinalizer] });
  const conditions = [
    {
      type: "CloudReady",
      status: "False",
      reason: "Refused",
      message: "",
      lastTransitionTime: "2026-01-01T00:00:00Z",
    },
  ];
  w.edit("shop", (one) => ({ ...one, status: { conditions } }), "status");
  await w.start();
  await w.pass(120);
  expect([w.conditionsOf("shop").length, w.written]).toEqual([1, []]);
  await w.stop();
});

test("keeps the load balancer of a Service without a class whose finalizer a user removed [F105]", async () => {
  const { rest, own } = await twoManagers("same");
  rest.create("plain");
  await rest.until(() => rest.addressesOf("plain").length === 1, "the address");
  await rest.stop();
  rest.edit("plain", ({ metadata, ...more }) => ({ ...more, metadata: { ...metadata, finalizers: [] } }));
  await own.pass(3600);
  expect([own.changes, own.written, idsOf(rest, "plain").length]).toEqual([[], [], 1]);
  expect(own.manager.report().orphans).toEqual([]);
  await own.stop();
});

test("removes Fairlead's condition from a rejected Service that gets a class which this manager does not serve [F105]", async () => {
  const w = new ServiceWorld();
  w.cloud.faults.add({ operation: "GET /balancers", kind: "status", status: 401, calls: 1000 });
  await w.start();
  w.create("web");
  await w.until(() => w.conditionsOf("web").length > 0, "the condition", 600);
  w.editSpec("web", { type: "ClusterIP" });
  w.editSpec("web", { type: "LoadBalancer", ...shop });
  w.cloud.faults.clear();
  await w.until(() => w.conditionsOf("web").length === 0, "the removal", 600);
  w.forget();
  await w.pass(3600);
  expect(w.written).toEqual([]);
  await w.stop();
});

test("the possible owners of load balancers include Services with the finalizer of another manager [F105]", () => {
  const onlyShop = servedClasses([ofShop], { only: true });
  const drafts: readonly ServiceDraft[] = [
    { uid: "of-shop", spec: { type: "LoadBalancer", ...shop } },
    { uid: "of-the-go-manager", finalizers: [lbFinalizer] },
    { uid: "of-another-class", finalizers: ["class.fairlead.dev/other-1"], spec: { type: "ClusterIP" } },
    { uid: "without-finalizer" },
  ];
  const ownersFor = (classes: ServedClasses) =>
    possibleOwners(drafts.map(toService), {}, classes).map(({ owner, hasFinalizer }) => [
      owner.uid,
      hasFinalizer,
    ]);
  expect(ownersFor(onlyShop)).toEqual([
    ["of-shop", false],
    ["of-the-go-manager", true],
    ["of-another-class", true],
  ] as never);
  expect(ownersFor(servesWithoutClass)).toEqual([
    ["of-the-go-manager", true],
    ["of-another-class", true],
    ["without-finalizer", false],
  ] as never);
});

test("each Service has one load balancer of its manager after 60 seeded changes [F105]", async () => {
  const { rest, own } = await twoManagers("other");
  const random = seededRandom(105);
  const choose = <T>(all: readonly T[]): T => all[Math.floor(random.fraction() * all.length)] as T;
  let created = 0;
  for (let change = 0; change < 60; change++) {
    const names = rest.services().map(({ metadata }) => metadata.name);
    const name = choose(names.length === 0 ? ["none"] : names);
    const kind = names.length < 4 ? "create" : choose(["create", "delete", "type", "ports", "class"]);
    const isShop = random.fraction() < 0.5;
    if (kind === "create") rest.create(`web-${created++}`, isShop ? { spec: shop } : {});
    else if (kind === "delete") rest.delete(name);
    else if (kind === "ports") rest.editSpec(name, { ports: [{ port: 8000 + change, protocol: "TCP" }] });
    else if (kind === "type") {
      const type = rest.get(name).spec.type === "LoadBalancer" ? "ClusterIP" : "LoadBalancer";
      rest.editSpec(name, type === "LoadBalancer" && isShop ? { type, ...shop } : { type });
    } else {
      rest.delete(name);
      await rest.until(() => rest.find(name) === undefined, "the deletion");
      rest.create(name, isShop ? { spec: shop } : {});
    }
    await rest.pass(Math.floor(random.fraction() * 20));
  }
  await rest.pass(600);
  const uidsOf = (isShop: boolean): readonly string[] =>
    rest
      .services()
      .filter(({ spec }) => spec.type === "LoadBalancer" && (spec.loadBalancerClass === ofShop) === isShop)
      .map(({ metadata }) => metadata.uid)
      .toSorted();
  expect([rest.owners(), own.owners()]).toEqual([uidsOf(false), uidsOf(true)]);
  for (const { metadata, spec } of rest.services()) {
    const expected =
      spec.type !== "LoadBalancer" ? [] : [spec.loadBalancerClass === ofShop ? shopFinalizer : lbFinalizer];
    expect(metadata.finalizers ?? []).toEqual(expected);
  }
  expect([rest.unexpectedErrors, own.unexpectedErrors]).toEqual([[], []]);
  await own.stop();
  await rest.stop();
});

import { afterEach, describe, expect, test } from "bun:test";
import type { Desired } from "../../../src/controllers/service/deps.ts";
import { describeTargets, fingerprintOf } from "../../../src/controllers/service/desired/difference.ts";
import { nodeName } from "../../../src/core/brand.ts";
import { ipAddress } from "../../../src/core/ip.ts";
import type { BalancerTarget } from "../../../src/provider/load-balancers.ts";
import type { TargetChanges } from "../../../src/provider/plan.ts";
import { ServiceWorld } from "../../support/service-world.ts";

// Why a load balancer was changed, in the words of the journal, and which changes of a Node count.

let world: ServiceWorld | undefined;
afterEach(() => world?.stop());

test("the journal names the Node that is no longer a target, and the new target", async () => {
  world = new ServiceWorld({ nodes: 4 });
  world.create("web");
  await world.start();
  await world.pass(60);
  world.removeNode("node-3");
  await world.pass(60);
  world.addNode("node-9");
  await world.pass(60);
  const reasons = world.manager.journal
    .entries()
    .flatMap(({ target, why }) => (target === "cloud" ? [why] : []));
  expect([...new Set(reasons)]).toEqual([
    "default/web: load balancer needed",
    "default/web: node-3 is no longer a target",
    "default/web: node-9 is a new target",
  ]);
});

const target = (name: string, changes: Partial<BalancerTarget> = {}): BalancerTarget => ({
  node: nodeName(name),
  labels: {},
  addresses: [],
  internalIPs: [],
  draining: false,
  ...changes,
});

describe("a change of targets", () => {
  const before = ["a", "b", "c"].map((name, index) =>
    target(name, { addresses: [ipAddress(`10.0.0.${index + 1}`)] }),
  );
  test.each<[string, readonly BalancerTarget[], TargetChanges, string]>([
    ["of one Node that left", before.slice(1), { removes: ["a"] }, "a is no longer a target"],
    [
      "of several Nodes",
      [target("d"), target("e")],
      { adds: ["d", "e"], removes: ["a", "b", "c"] },
      "3 Nodes are no longer targets (a, b, c); 2 Nodes are new targets (d, e)",
    ],
    [
      "of a Node that drains",
      [target("a", { draining: true }), ...before.slice(1)],
      {},
      "a gets no new connections",
    ],
    [
      "of an address",
      [target("a", { addresses: [ipAddress("10.0.0.2")] }), ...before.slice(1)],
      { adds: ["a"], removes: ["10.0.0.1"] },
      "a has a different machine or address",
    ],
    ["of nothing", before.map((one) => ({ ...one })), {}, ""],
  ])("%s is described", (_, now, targets, text) => {
    expect(describeTargets(before, now, [{ do: "change", targets }])).toBe(text);
  });
});

describe("the fingerprint of the desired state", () => {
  const of = (targets: readonly BalancerTarget[]) =>
    fingerprintOf({ targets, facts: {}, ports: [] } as unknown as Desired);

  test.each<[string, Partial<BalancerTarget>]>([
    ["the labels", { labels: { pool: "web" } }],
    ["the addresses", { addresses: ["10.0.0.9" as BalancerTarget["addresses"][number]] }],
    ["the kinds of addresses", { internalIPs: ["10.0.0.9" as BalancerTarget["addresses"][number]] }],
    ["the machine", { machine: { source: "cloud", key: "7" } }],
    ["draining", { draining: true }],
  ])("changes with %s of a Node, and only in its part for targets", (_, changes) => {
    const one = of([target("a"), target("b")]);
    const other = of([target("a", changes), target("b")]);
    expect(other.targets).not.toBe(one.targets);
    expect(other.spec).toBe(one.spec);
    expect(of([target("a"), target("b")]).targets).toBe(one.targets);
  });
});

import { expect, test } from "bun:test";
import { type Milliseconds, seconds } from "../../../src/core/brand.ts";
import type { BalancerTarget, DesiredLoadBalancer, Fields, RefusedTarget } from "../../../src/index.ts";
import type { ScriptedBalancers } from "../../support/scripted-balancers.ts";
import type { Thing } from "../../support/scripted-plan.ts";
import { scriptedWorld } from "../../support/scripted-world.ts";

// Targets that the cloud rejects while it accepts others: the load balancer counts as converged without them.

const why = "the server is in another datacenter";

const refusalsOf = (
  targets: readonly BalancerTarget[],
  refuses: ReadonlySet<string>,
  retryAfter?: Milliseconds,
) =>
  targets.flatMap(({ node }): RefusedTarget[] =>
    refuses.has(node) ? [{ node, text: why, retryAfter }] : [],
  );

const targetsOf = (desired: Pick<DesiredLoadBalancer<Fields>, "targets"> | undefined) =>
  desired?.targets ?? [];

/** The cloud applies each step without the rejected targets, and reports that in its response. */
const refusingWorld = (
  change: (script: ScriptedBalancers) => void = () => undefined,
  retryAfter?: Milliseconds,
) => {
  const refuses = new Set(["node-1"]);
  const world = scriptedWorld(change, ({ plan, apply }) => ({
    plan: (desired, observed, given) => {
      const planned = plan(desired, observed, given);
      const refused = refusalsOf(targetsOf(desired), refuses, retryAfter);
      return { ...planned, steps: planned.steps.map((step) => ({ ...step, refused })) };
    },
    apply: async (step, call) => {
      const { thing, refused } = step as unknown as { thing: Thing; refused: readonly RefusedTarget[] };
      const taken = { ...thing, targets: thing.targets - refused.length };
      return { ...(await apply({ ...step, thing: taken } as typeof step, call)), refused };
    },
  }));
  const targets = () => [...world.script.things.values()].map((thing) => thing.targets);
  const warnings = () => world.w.events("web").filter((text) => text.startsWith("Warning "));
  return { ...world, refuses, targets, warnings };
};

const text =
  "TargetRefused The cloud refuses 1 of 3 targets: node-1 (the server is in another datacenter). They get no traffic from the load balancer. They are tried again from time to time, and when the Node or the Service changes.";

test("reports a rejected target once, and publishes the status without it", async () => {
  const { w, script, targets, warnings } = refusingWorld();
  await w.start();
  w.create("web");
  await w.pass(30);
  expect([warnings(), targets(), script.applied.length]).toEqual([[`Warning ${text}`], [2], 1]);
  const { loadBalancer, conditions } = w.get("web").status;
  expect(loadBalancer?.ingress).toHaveLength(1);
  expect(conditions).toMatchObject([{ type: "CloudWarning", reason: "TargetRefused" }]);
});

test("publishes no event about new hosts when the cloud rejects every new target", async () => {
  const { w, refuses, targets } = refusingWorld();
  const updates = () => w.events("web").filter((event) => event.includes("UpdatedLoadBalancer")).length;
  refuses.clear();
  await w.start();
  w.create("web");
  await w.pass(30);
  refuses.add("refused");
  w.addNode("refused");
  await w.pass(600);
  expect([targets(), updates()]).toEqual([[3], 0]);
  w.addNode("accepted");
  await w.pass(600);
  expect([targets(), updates()]).toEqual([[4], 1]);
});

test("retries a rejected target with a growing delay of at most an hour, without a write or another event", async () => {
  const { w, script, targets, warnings } = refusingWorld();
  await w.start();
  w.create("web");
  await w.pass(30);
  w.forget();
  const attempts = async (minutes: number) => {
    const before = script.applied.length;
    await w.pass(minutes * 60);
    return script.applied.length - before;
  };
  // After 1, 3, 7, 15, 31, 63, 123, … minutes.
  expect([await attempts(2), await attempts(14), await attempts(48), await attempts(240)]).toEqual([
    1, 3, 2, 4,
  ]);
  expect([warnings().length, targets(), w.written]).toEqual([1, [2], []]);
});

test("retries a rejected target after the provider's delay, which grows with each attempt", async () => {
  const { w, script, refuses, targets } = refusingWorld(undefined, seconds(5));
  await w.start();
  w.create("web");
  await w.pass(4);
  expect([targets(), script.applied.length]).toEqual([[2], 1]);
  await w.pass(30);
  // After 5 and 15 s, and then after 35 s.
  expect([targets(), script.applied.length]).toEqual([[2], 3]);
  refuses.clear();
  await w.pass(6);
  expect(targets()).toEqual([3]);
});

test("the warning ends when the cloud accepts the target", async () => {
  const { w, refuses, targets } = refusingWorld();
  await w.start();
  w.create("web");
  await w.pass(30);
  refuses.clear();
  await w.pass(60);
  expect([targets(), w.get("web").status.conditions]).toEqual([[3], undefined]);
});

test.each(["Node", "Service"] as const)(
  "retries a rejected target immediately when its %s changes",
  async (what) => {
    const { w, script, refuses, targets } = refusingWorld();
    await w.start();
    w.create("web");
    await w.pass(40);
    refuses.clear();
    const applied = script.applied.length;
    w.addNode("unrelated");
    await w.pass(5);
    expect([script.applied.length, targets()]).toEqual([applied + 1, [3]]);
    const status = { addresses: [{ type: "InternalIP", address: "10.9.9.9" }] };
    if (what === "Node") w.changeNode("node-1", (node) => ({ ...node, status }));
    else w.annotate("web", { "scripted.example/size": "large" });
    await w.pass(5);
    expect(targets()).toEqual([4]);
  },
);

test("a restart retries a rejected target once", async () => {
  const { w, script, targets } = refusingWorld();
  await w.start();
  w.create("web");
  await w.pass(40);
  w.crash();
  const applied = script.applied.length;
  await w.start();
  await w.pass(30);
  expect([script.applied.length, targets()]).toEqual([applied + 1, [2]]);
});

test("a new session retries a rejected target once, and does not report it again", async () => {
  const { w, script, targets, warnings } = refusingWorld();
  await w.start("--leader-elect=true");
  w.create("web");
  await w.pass(200);
  const [applied, reported] = [script.applied.length, warnings()];
  for (let time = 0; time < 30; time += 5) {
    w.holdLease("other");
    await w.pass(5);
  }
  w.holdLease("");
  await w.until(() => w.manager.leads(), "it to lead");
  await w.pass(30);
  expect([script.applied.length, warnings()]).toEqual([applied + 1, reported]);
  expect(targets()).toEqual([2]);
});

test("drops and reports a target that the result of an operation rejects", async () => {
  const { w, script } = scriptedWorld((one) => {
    one.operationLimit = 10;
    one.operationResult = { refused: [{ node: "node-1", text: why }] };
  });
  await w.start();
  w.create("web");
  for (let second = 0; second < 30; second += 1) {
    for (const operation of script.operations) script.outcomes.set(operation, "done");
    await w.pass(1);
  }
  // The scripted cloud has the target after all, so the next plan removes it.
  expect(script.applied).toHaveLength(2);
  expect(w.events("web").filter((event) => event.startsWith("Warning "))).toEqual([`Warning ${text}`]);
  expect(w.get("web").status.loadBalancer?.ingress).toHaveLength(1);
});

test("the next plan omits a target that the cloud lists as rejected", async () => {
  const refuses = new Set(["node-1"]);
  const { w, script } = scriptedWorld(undefined, ({ plan }) => ({
    plan: (desired, observed, given) => {
      const refused = observed === undefined ? [] : refusalsOf(targetsOf(desired), refuses);
      return { ...plan(desired, observed, given), refused };
    },
  }));
  await w.start();
  w.create("web");
  await w.pass(30);
  expect([...script.things.values()].map((thing) => thing.targets)).toEqual([2]);
  expect(script.applied).toHaveLength(2);
  // Plans that report the target again send nothing.
  const { plans } = script;
  await w.pass(300);
  expect(script.applied).toHaveLength(2);
  expect(script.plans - plans).toBeLessThan(10);
  expect(w.events("web").filter((event) => event.startsWith("Warning "))).toEqual([`Warning ${text}`]);
});

test("a rejection of one Service's target does not affect the targets of other Services", async () => {
  const seen = new Map<string, number>();
  const { w } = scriptedWorld(undefined, ({ plan }) => ({
    plan: (desired, observed, given) => {
      const name = desired?.owner.name ?? "";
      seen.set(name, targetsOf(desired).length);
      const refused = name === "mail" ? [{ node: "node-1", text: why }] : [];
      return { ...plan(desired, observed, given), refused };
    },
  }));
  await w.start();
  for (const name of ["web", "mail"]) w.create(name);
  await w.pass(30);
  expect(Object.fromEntries(seen)).toEqual({ web: 3, mail: 2 });
});

import { describe, expect, spyOn, test } from "bun:test";
import { fake } from "../../../providers/fake/index.ts";
import { RecentSteps, withoutRecent } from "../../../src/cloud/reads-lag.ts";
import { hashStep } from "../../../src/controllers/service/desired/difference.ts";
import { confirmAfterOf } from "../../../src/controllers/service/reconcile/context.ts";
import {
  CloudError,
  defineProvider,
  type Milliseconds,
  minutes,
  type Step,
  seconds,
} from "../../../src/index.ts";
import { lagListings } from "../../support/lagging-view.ts";
import { scriptedWorld } from "../../support/scripted-world.ts";
import { ServiceWorld } from "../../support/service-world.ts";

// A cloud whose listings show changes some time after it has accepted them, and a provider that declares this.

const lagging = (readsLag: Milliseconds | undefined) =>
  defineProvider({
    ...fake,
    connect: (config, context) => {
      const cloud = fake.connect(config, context);
      return {
        ...cloud,
        ...(cloud.loadBalancers && { loadBalancers: { ...cloud.loadBalancers, readsLag } }),
      };
    },
  });

const reasons = (w: ServiceWorld, name: string): readonly string[] =>
  w.events(name).map((text) => text.split(" ")[1] ?? "");

test.each([5, 20, 50])(
  "sends each change once and reports no drift while listings lag %d s behind",
  async (lag) => {
    const w = new ServiceWorld({ provider: lagging(seconds(lag + 5)) });
    await w.start();
    lagListings(w, lag);
    w.create("web");
    await w.until(() => w.addressesOf("web").length === 1, "the address", 2 * lag + 30);
    const created = w.changes.length;
    await w.pass(300);
    expect(w.changes).toHaveLength(created);
    w.forget();
    w.edit("web", (service) => ({
      ...service,
      spec: { ...service.spec, ports: [{ port: 443, protocol: "TCP", nodePort: 30443 }] },
    }));
    await w.pass(3);
    const [edited] = [w.changes.length];
    w.addNode("node-9");
    await w.pass(3);
    const withNode = w.changes.length;
    expect(withNode).toBeGreaterThan(edited);
    await w.pass(300);
    expect(w.changes).toHaveLength(withNode);
    expect(w.cloud.balancers.list()).toHaveLength(1);
    expect(JSON.stringify(w.cloud.balancers.list())).toContain("443");
    expect(reasons(w, "web").filter((reason) => /Drift|Missing|Failed|Duplicate/.test(reason))).toEqual([]);
    w.delete("web");
    await w.until(() => w.find("web") === undefined, "the deletion", 4 * lag + 120);
    expect(w.cloud.balancers.list()).toEqual([]);
    await w.stop();
  },
);

test("a difference that lasts longer than reads lag is repaired and reported as drift", async () => {
  const w = new ServiceWorld({ provider: lagging(seconds(25)) });
  await w.start();
  lagListings(w, 20);
  w.create("web");
  await w.pass(120);
  const [balancer] = w.cloud.balancers.list();
  w.cloud.balancers.change(balancer?.id ?? "", { targets: [] } as never);
  await w.until(() => reasons(w, "web").includes("LoadBalancerDrift"), "the event", 3600);
  await w.pass(60);
  expect(w.cloud.balancers.list()[0]?.targets).toHaveLength(3);
  await w.stop();
});

test("an error of a plan is not reported while it may be a consequence of an old state", async () => {
  const { w, script } = scriptedWorld(undefined, () => ({ readsLag: seconds(30) }));
  await w.start();
  w.create("web");
  await w.until(() => script.applied.length === 1, "the load balancer");
  script.conflict = "the name is taken";
  await w.pass(20);
  expect(w.events("web").join()).not.toContain("the name is taken");
  expect(w.events("web").join()).toContain("Waiting for the cloud to show the changes");
  await w.pass(60);
  expect(w.events("web").join()).toContain("the name is taken");
  script.conflict = undefined;
  await w.stop();
});

test("a lookup without a definite answer changes nothing, and is repeated when its error says", async () => {
  let asked = 0;
  const { w, script } = scriptedWorld(undefined, () => ({
    observe: async (_, listed) => {
      asked += 1;
      if (w.clock.monotonic() >= minutes(10)) return listed;
      const detail = { operation: "GET /pool", retryAfter: { in: seconds(10) } };
      throw new CloudError("unavailable", "the region does not answer", detail);
    },
  }));
  await w.start();
  w.create("web");
  await w.pass(300);
  expect(script.applied).toEqual([]);
  expect(asked).toBeGreaterThan(8);
  expect(w.events("web").join()).toContain("the region does not answer");
  await w.until(() => script.applied.length === 1, "the load balancer", 340);
  await w.stop();
});

test("accepted steps are remembered only where reads lag", async () => {
  const countOf = async (readsLag: Milliseconds | undefined): Promise<number> => {
    const note = spyOn(RecentSteps.prototype, "note");
    const { w } = scriptedWorld(undefined, () => ({ readsLag }));
    await w.start();
    w.create("web");
    await w.pass(60);
    await w.stop();
    const { length } = note.mock.calls;
    note.mockRestore();
    return length;
  };
  expect(await countOf(undefined)).toBe(0);
  expect(await countOf(seconds(5))).toBe(1);
});

test("the lag of reads is added to the time between two proofs of absence", () => {
  const settings = { confirmAfter: seconds(30) } as never;
  expect(confirmAfterOf({ balancers: {} as never, settings })).toBe(seconds(30));
  expect(confirmAfterOf({ balancers: { readsLag: seconds(10) } as never, settings })).toBe(seconds(40));
  expect(confirmAfterOf({ balancers: { readsLag: seconds(60) } as never, settings })).toBe(seconds(90));
});

describe("a plan while reads lag", () => {
  const [one, other] = [
    { do: "add", on: "1" },
    { do: "add", on: "2" },
  ];
  const planned = (steps: readonly Step[], observedAt: number, desired = "a", readsLag?: Milliseconds) => {
    const recentSteps = new RecentSteps();
    recentSteps.note(hashStep(one), { at: 100, step: one, desired: "a" });
    recentSteps.observedAt = observedAt;
    return withoutRecent(
      { steps },
      recentSteps,
      { readsLag },
      {
        hashOf: hashStep,
        desired: () => desired,
      },
    );
  };
  const lag = seconds(1);

  test("lacks a step that was just accepted, and has it again when reads no longer lag", () => {
    expect(planned([one, other], 900, "a", lag).steps).toEqual([other]);
    expect(planned([one, other], 1100, "a", lag).steps).toEqual([one, other]);
    expect(planned([one, other], 900).steps).toEqual([one, other]);
  });

  test("waits when nothing else is left", () => {
    expect(planned([one], 900, "a", lag)).toMatchObject({
      steps: [],
      wait: { waitingFor: "the cloud to show the changes" },
    });
  });

  test("lacks the rest of an accepted step, unless the desired state has changed", () => {
    const rest = { ...one, more: true };
    expect(planned([rest], 900, "a", lag).steps).toEqual([]);
    expect(planned([rest], 900, "b", lag).steps).toEqual([rest]);
  });
});

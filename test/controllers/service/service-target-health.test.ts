import { describe, expect, test } from "bun:test";
import { explainPage } from "../../../src/app/endpoints/debug-pages.ts";
import { CloudError } from "../../../src/index.ts";
import { scriptedWorld } from "../../support/scripted-world.ts";

// What a cloud's health checks report about targets: an event, a condition, a metric, and the answer to a user's query.

const minutes = (count: number) => count * 60;
/** Longer than the pause between two regular listings. */
const listingPause = minutes(31);

const health = (states: Readonly<Record<string, boolean>>) =>
  Object.entries(states).map(([target, isHealthy]) => ({ target, isHealthy, text: "port 80" }));

/** A cloud that reports this about the targets of each load balancer, with its listings and on a user's query. */
async function served(...flags: readonly string[]) {
  const cloud = {
    states: { "node-0": true, "node-1": true } as Readonly<Record<string, boolean>>,
    now: undefined as Readonly<Record<string, boolean>> | undefined,
    failure: undefined as CloudError | undefined,
    asked: 0,
  };
  const { w, script } = scriptedWorld(undefined, ({ list }) => ({
    list: async function* (call) {
      for await (const page of list(call)) yield page.map((one) => ({ ...one, states: cloud.states }));
    },
    healthOf: (_, observed) => health((observed as unknown as typeof cloud).states),
    observeHealth: async (_, observed) => {
      cloud.asked += 1;
      if (cloud.failure !== undefined) throw cloud.failure;
      return { ...observed, states: cloud.now ?? cloud.states };
    },
  }));
  await w.start(...flags);
  w.create("web");
  await w.pass(minutes(3));
  w.forget();
  const healthEvents = () => w.events("web").filter((text) => text.includes("TargetsUnhealthy"));
  const conditions = () =>
    (w.get("web").status.conditions ?? []).map(({ type, reason }) => `${type} ${reason}`);
  const metrics = () =>
    w.manager.metrics
      .text()
      .split("\n")
      .filter((line) => /^fairlead_(load_balancer_targets|problems)/.test(line))
      .toSorted();
  const explain = async () => {
    const query = new URLSearchParams("kind=service&name=default/web");
    const page = { method: "GET", path: "", headers: [], body: async () => "", query };
    const answer = explainPage(w.manager)(page);
    await w.pass(6);
    return JSON.parse(String((await answer).body)).objects[0];
  };
  return { w, script, cloud, healthEvents, conditions, metrics, explain };
}

const down = { "node-0": false, "node-1": false };

describe("targets that fail their health checks", () => {
  test("failing targets cause one event when all are unhealthy, and no write to the Service [F115]", async () => {
    const h = await served();
    h.cloud.states = { "node-0": false, "node-1": true };
    await h.w.pass(listingPause);
    expect([h.healthEvents(), h.conditions(), h.w.written]).toEqual([[], [], []]);
    h.cloud.states = down;
    await h.w.pass(3 * listingPause);
    expect(h.healthEvents()).toEqual([
      expect.stringMatching(/^Warning AllTargetsUnhealthy .* all 2 targets .*: port 80 \(node-0, node-1\)/),
    ]);
    expect([h.conditions(), h.w.written]).toEqual([[], []]);
    expect(h.metrics()).toEqual([
      'fairlead_load_balancer_targets{health="healthy"} 0',
      'fairlead_load_balancer_targets{health="unhealthy"} 2',
      'fairlead_problems{object="Service",reason="AllTargetsUnhealthy"} 1',
    ]);
    h.cloud.states = { "node-0": true, "node-1": true };
    await h.w.pass(listingPause);
    expect(h.metrics()).toContain('fairlead_load_balancer_targets{health="healthy"} 2');
    h.cloud.states = down;
    await h.w.pass(listingPause);
    // The event recorder counts the repetition of an event.
    const logged = h.w.logged.filter((line) => line.includes("AllTargetsUnhealthy"));
    expect([logged.length, h.w.written]).toEqual([2, []]);
  });

  test("failing targets cause no further cloud request, and no plan that changes something [F115]", async () => {
    const h = await served();
    const applied = h.script.applied.length;
    h.cloud.states = down;
    await h.w.pass(4 * listingPause);
    expect([h.script.applied.length, h.cloud.asked]).toEqual([applied, 0]);
  });

  test("does not report failing targets until pods and health checks have had two minutes to start [F115]", async () => {
    const h = await served();
    h.cloud.states = down;
    h.w.create("late");
    await h.w.pass(minutes(1));
    h.w.editSpec("late", { ports: [{ port: 81, protocol: "TCP", nodePort: 30_081 }] });
    await h.w.pass(minutes(1));
    expect(h.w.events("late").join()).not.toContain("AllTargetsUnhealthy");
    await h.w.pass(listingPause);
    expect(h.w.events("late").join()).toContain("AllTargetsUnhealthy");
  });

  test("writes the condition about failing targets at the flag's percentage, and removes the condition below it [F115]", async () => {
    const h = await served("--unhealthy-targets-condition=50");
    expect(h.w.written).toEqual([]);
    h.cloud.states = { "node-0": false, "node-1": true };
    await h.w.pass(2 * listingPause);
    expect([h.conditions(), h.w.written.length]).toEqual([["TargetsUnhealthy TargetsUnhealthy"], 1]);
    h.cloud.states = down;
    await h.w.pass(2 * listingPause);
    expect([h.conditions(), h.w.written.length]).toEqual([["TargetsUnhealthy AllTargetsUnhealthy"], 2]);
    h.cloud.states = { "node-0": false, "node-1": true, "node-2": true };
    await h.w.pass(2 * listingPause);
    expect([h.conditions(), h.w.written.length]).toEqual([[], 3]);
  });

  test("targets that fail intermittently cause few writes and reports, however often the cloud is listed [F115]", async () => {
    const h = await served("--unhealthy-targets-condition=50");
    const up = h.cloud.states;
    h.w.create("other");
    await h.w.pass(minutes(3));
    h.w.forget();
    // Another tenant constantly changes a Service, and each change needs a listing.
    for (let round = 0; round < 60; round += 1) {
      h.cloud.states = h.cloud.states === up ? down : up;
      h.w.editSpec("other", { ports: [{ port: 8000 + round, protocol: "TCP", nodePort: 30_081 }] });
      await h.w.pass(65);
    }
    const logged = h.w.logged.filter(
      (line) => line.includes("AllTargetsUnhealthy") && line.includes("/web"),
    ).length;
    const written = h.w.written.filter((path) => path.includes("/web")).length;
    // Two changes in ten minutes.
    expect([logged <= 7, written <= 14]).toEqual([true, true]);
  });

  test("reports the current state of targets that failed intermittently before [F115]", async () => {
    const h = await served("--unhealthy-targets-condition=50");
    const up = h.cloud.states;
    h.w.create("other");
    await h.w.pass(minutes(3));
    for (const [index, states] of [down, up, down].entries()) {
      h.cloud.states = states;
      h.w.editSpec("other", { ports: [{ port: 8000 + index, protocol: "TCP", nodePort: 30_081 }] });
      await h.w.pass(65);
    }
    expect(h.conditions()).toEqual([]);
    await h.w.pass(listingPause);
    expect(h.conditions()).toEqual(["TargetsUnhealthy AllTargetsUnhealthy"]);
  });

  test("removes the condition about targets when the flag no longer requests it [F115]", async () => {
    const h = await served("--unhealthy-targets-condition=100");
    h.cloud.states = down;
    await h.w.pass(listingPause);
    expect(h.conditions()).toEqual(["TargetsUnhealthy AllTargetsUnhealthy"]);
    await h.w.stop();
    await h.w.start();
    await h.w.pass(minutes(1));
    expect(h.conditions()).toEqual([]);
  });
});

describe("a user's query about target health", () => {
  test("a user's query returns the current health, at most once in ten seconds [F115]", async () => {
    const h = await served();
    h.cloud.now = { "node-0": false, "node-1": true };
    expect((await h.explain()).facts["Health"]).toMatch(
      /^1 healthy, 1 unhealthy: port 80 \(node-0\), as read \d+s ago$/,
    );
    await h.explain();
    expect(h.cloud.asked).toBe(1);
    await h.w.pass(10);
    h.cloud.now = down;
    const { notes } = await h.explain();
    expect(notes).toContainEqual(
      expect.objectContaining({ reason: "AllTargetsUnhealthy", severity: "warning" }),
    );
    expect([h.cloud.asked, h.w.written]).toEqual([2, []]);
  });

  test("a user's query returns the last result, and why there is no newer result [F115]", async () => {
    const h = await served();
    h.cloud.failure = new CloudError("forbidden", "not\u0007 allowed", { operation: "GET health" });
    const { facts } = await h.explain();
    expect(facts["Health"]).toMatch(
      /^2 healthy, as read \d+\w+ ago; a newer answer could not be read: not allowed$/,
    );
  });
});

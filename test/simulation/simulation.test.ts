// Whole managers in a simulated world, each run from one seed: first a small crash, then storms. A seed that fails says
// how to replay it; FAIRLEAD_SEEDS=n runs more of them.

import { describe, expect, test } from "bun:test";
import { isUninitialized } from "../../src/controllers/node-facts.ts";
import { milliseconds, minutes, seconds } from "../../src/core/brand.ts";
import { report, runStorm } from "./run-storm.ts";
import { World } from "./world.ts";

const numberFrom = (variable: string): number | undefined => {
  const text = process.env[variable];
  return text === undefined ? undefined : Number(text);
};
const only = numberFrom("FAIRLEAD_SEED");
const seeds =
  only === undefined
    ? Array.from({ length: numberFrom("FAIRLEAD_SEEDS") ?? 4 }, (_, index) => index + 1)
    : [only];

const crash = async (seed: number) => {
  const world = new World({ seed, nodes: 3, replicas: 1 });
  const { clock, invariants, script } = world;
  // In the middle of joining: some Nodes have their addresses and no id yet.
  await clock.until(() => invariants.nodeWrites >= 3, seconds(10), "the third write");
  for (const replica of [...world.replicas]) world.killReplica(replica);
  const left = world.nodes().filter(isUninitialized).length;
  world.startReplica();
  const areAllIn = () => world.nodes().every((node) => !isUninitialized(node));
  await clock.until(areAllIn, minutes(2), "all nodes to be initialised");
  await clock.advance(minutes(1));
  const writes = invariants.nodeWrites;
  await clock.advance(minutes(10));
  for (const replica of [...world.replicas]) world.killReplica(replica);
  world.kubelets.stop();
  return { left, violations: invariants.violations, idle: invariants.nodeWrites - writes, hash: script.hash };
};

test("three nodes, one crash: a new process finishes what the old one began, in the same way each time [N2 F1]", async () => {
  const first = await crash(only ?? 1);
  expect(first.violations).toEqual([]);
  expect(first.left).toBeGreaterThan(0);
  expect(first.idle).toBe(0);
  expect((await crash(only ?? 1)).hash).toBe(first.hash);
});

test("a leader that was stopped beyond its lease writes nothing when its answers come [N14]", async () => {
  const world = new World({ seed: 3, nodes: 3, replicas: 2 });
  const { clock, invariants } = world;
  await clock.advance(minutes(1));
  const { leader } = world;
  world.addNode("late");
  // Its question is on the way to the cloud; the answer comes to a stopped process.
  await clock.advance(milliseconds(25));
  leader?.life.stop();
  await clock.advance(seconds(40));
  expect(world.leader?.name).not.toBe(leader?.name);
  leader?.life.resume("answer");
  await clock.advance(minutes(1));
  expect(invariants.violations).toEqual([]);
  expect(world.nodes().some(isUninitialized)).toBe(false);
  for (const replica of [...world.replicas]) world.killReplica(replica);
  world.kubelets.stop();
});

describe("a storm over nodes, Services and routes breaks no invariant, and all settles after it [N10 N14 F21 F22 F26 F27 F51 F52 F58 F60]", () => {
  for (const seed of seeds) {
    test(`seed ${seed}`, async () => {
      const outcome = await runStorm({ seed });
      if (outcome.violations.length > 0) throw new Error(report(outcome));
      expect(Math.min(outcome.nodeWrites, outcome.serviceWrites, outcome.cloudChanges)).toBeGreaterThan(0);
    }, 60_000);
  }
});

test("one seed is one history, write for write", async () => {
  const options = { seed: only ?? 5, lasts: minutes(10), mishaps: 30, untilCalm: true };
  const [first, second] = [await runStorm(options), await runStorm(options)];
  expect(second.hash).toBe(first.hash);
  expect(second.writes).toBe(first.writes);
});

// Runs whole managers in the simulation, each from one seed. A failing seed prints how to replay it; FAIRLEAD_SEEDS=n runs n seeds.

import { describe, expect, test } from "bun:test";
import { isUninitialized } from "../../src/controllers/node-facts.ts";
import { milliseconds, minutes, seconds } from "../../src/core/brand.ts";
import { runsAllTests, runsNightly } from "../../src/testing/breadth.ts";
import { report, runSimulation } from "./run-simulation.ts";
import { World } from "./world.ts";

const numberFrom = (variable: string): number | undefined => {
  const text = process.env[variable];
  return text === undefined ? undefined : Number(text);
};
const only = numberFrom("FAIRLEAD_SEED");
const seeds =
  only === undefined
    ? Array.from(
        { length: numberFrom("FAIRLEAD_SEEDS") ?? (runsNightly ? 20 : runsAllTests ? 10 : 2) },
        (_, index) => index + 1,
      )
    : [only];

const crash = async (seed: number) => {
  const world = new World({ seed, nodes: 3, replicas: 1 });
  const { clock, invariants, history } = world;
  // Some Nodes have their addresses but no provider id yet.
  await clock.until(() => invariants.nodeWrites >= 3, seconds(10), "the third write");
  for (const replica of [...world.replicas]) world.killReplica(replica);
  const left = world.nodes().filter(isUninitialized).length;
  world.startReplica();
  const areAllInitialized = () => world.nodes().every((node) => !isUninitialized(node));
  await clock.until(areAllInitialized, minutes(2), "all Nodes to be initialized");
  await clock.advance(minutes(1));
  const writes = invariants.nodeWrites;
  await clock.advance(minutes(10));
  for (const replica of [...world.replicas]) world.killReplica(replica);
  world.kubelets.stop();
  return {
    left,
    violations: invariants.violations,
    idle: invariants.nodeWrites - writes,
    hash: history.hash,
  };
};

test("a new process finishes the work of a crashed process, in the same way each time [N2 F1]", async () => {
  const first = await crash(only ?? 1);
  expect(first.violations).toEqual([]);
  expect(first.left).toBeGreaterThan(0);
  expect(first.idle).toBe(0);
  expect((await crash(only ?? 1)).hash).toBe(first.hash);
});

test("a leader that was paused until its Lease expired writes nothing when it resumes [N14]", async () => {
  const world = new World({ seed: 3, nodes: 3, replicas: 2 });
  const { clock, invariants } = world;
  await clock.advance(minutes(1));
  const { leader } = world;
  world.addNode("late");
  // The cloud request of the process is in flight; the process is paused when the response arrives.
  await clock.advance(milliseconds(25));
  leader?.process.pause();
  await clock.advance(seconds(40));
  expect(world.leader?.name).not.toBe(leader?.name);
  leader?.process.resume("answer");
  await clock.advance(minutes(1));
  expect(invariants.violations).toEqual([]);
  expect(world.nodes().some(isUninitialized)).toBe(false);
  for (const replica of [...world.replicas]) world.killReplica(replica);
  world.kubelets.stop();
});

describe("faults and changes violate no invariant, and everything converges afterwards [N10 N14 F21 F22 F26 F27 F51 F52 F58 F60]", () => {
  for (const seed of seeds) {
    test(`seed ${seed}`, async () => {
      const outcome = await runSimulation({ seed });
      if (outcome.violations.length > 0) throw new Error(report(outcome));
      expect(Math.min(outcome.nodeWrites, outcome.serviceWrites, outcome.cloudChanges)).toBeGreaterThan(0);
    });
  }
});

describe("no volume is lost, made twice or detached from a machine that writes to it, and all volumes converge", () => {
  const shorter = only === undefined && !runsAllTests ? { duration: minutes(8), disruptions: 24 } : {};
  const volumeSeeds = only === undefined && !runsAllTests ? [2] : seeds.slice(0, 10);
  for (const seed of volumeSeeds) {
    test(`seed ${seed}`, async () => {
      const outcome = await runSimulation({ seed, volumes: true, ...shorter });
      if (outcome.violations.length > 0) throw new Error(report(outcome));
      expect(outcome.volumeChanges).toBeGreaterThan(0);
    });
  }
});

test("two runs of one seed make the same writes", async () => {
  const options = { seed: only ?? 5, duration: minutes(10), disruptions: 30, onlyDisruptions: true };
  const [first, second] = [await runSimulation(options), await runSimulation(options)];
  expect(second.hash).toBe(first.hash);
  expect(second.writes).toBe(first.writes);
});

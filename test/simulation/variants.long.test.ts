// Clouds that are asked for single load balancers, beside listings that are complete or lack their targets, as on AWS;
// clouds whose changes of routes take some time; and clouds that show running machines as stopped. All invariants hold,
// whatever happens.

import { expect, test } from "bun:test";
import { minutes } from "../../src/core/brand.ts";
import { runsAllTests, runsNightly } from "../../src/testing/breadth.ts";
import { report, runSimulation } from "./run-simulation.ts";
import type { Variants } from "./variants.ts";

const runs: readonly (readonly [seed: number, what: string, variants: Variants])[] = runsAllTests
  ? Array.from({ length: runsNightly ? 20 : 10 }, (_, index) => index + 1).flatMap((seed) => [
      [seed, "lookups", { lookups: true }],
      [seed, "operations", { operations: true }],
      [seed, "stops", { stops: true }],
    ])
  : [
      [4, "lookups and operations", { lookups: true, operations: true }],
      [2, "stops", { stops: true }],
    ];

test.each(runs)(
  "Nodes, load balancers and routes reach their desired state, whatever happens: seed %d with %s [F106]",
  async (seed, _, chosen) => {
    const shorter = runsAllTests ? {} : { duration: minutes(8), disruptions: 24 };
    const outcome = await runSimulation({ seed, ...chosen, ...shorter });
    expect(outcome.violations.length === 0 ? "" : report(outcome)).toBe("");
  },
);

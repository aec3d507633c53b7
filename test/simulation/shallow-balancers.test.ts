// Listings lack the targets of load balancers, as on AWS: they are read in depth, and recalled as long as nothing is to be done. All invariants hold.

import { expect, test } from "bun:test";
import { runsAllTests } from "../../src/testing/breadth.ts";
import { isMarked, ownersOf } from "./cloud-invariants.ts";
import { report, runSimulation } from "./run-simulation.ts";
import { withShallowListings } from "./shallow-balancers.ts";
import type { World } from "./world.ts";

const seeds = Array.from({ length: runsAllTests ? 20 : 1 }, (_, index) => index + 1);

test.each(seeds)(
  "load balancers whose targets are not listed end as their Services want, whatever happens: seed %d",
  async (seed) => {
    let world: World | undefined;
    const provider = withShallowListings(
      (key) =>
        world?.cloud.balancers
          .list()
          .find(({ id, labels }) => id === key || (isMarked(labels) && ownersOf(labels).includes(key)))?.id,
    );
    const before = (one: World): void => {
      world = one;
    };
    const outcome = await runSimulation({ seed, provider, before });
    expect(outcome.violations.length === 0 ? "" : report(outcome)).toBe("");
  },
);

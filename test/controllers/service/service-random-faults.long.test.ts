import { expect, test } from "bun:test";
import { runsAllTests } from "../../../src/testing/breadth.ts";
import { runRandomFaults } from "../../support/service-random-faults.ts";

// Services under seeded random faults. A failing seed fails every time.

test("after random faults, the cloud has exactly the load balancers that Services need, and receives no further changes [F26 F27 F52 N10]", async () => {
  for (let seed = 1; seed <= (runsAllTests ? 20 : 3); seed += 1) {
    expect({ seed, wrong: await runRandomFaults(seed) }).toEqual({ seed, wrong: [] });
  }
});

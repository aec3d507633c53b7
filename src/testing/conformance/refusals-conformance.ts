// The contract of a provider's load balancers while the cloud refuses something: one target, or every request because the rate limit is
// used up. Only for simulated clouds that can do so.

import { expect, test } from "bun:test";
import { VirtualClock } from "../virtual-time/virtual-clock.ts";
import type { Phases } from "./balancer-listing-conformance.ts";
import { converge } from "./converge.ts";
import { listBalancers, type SavedFacts } from "./converge-groups.ts";
import type { Harness } from "./simulated-cloud.ts";
import { labWithTargets, targetMachines } from "./targets.ts";

/** Called inside the suite of load balancers. The first Service has the targets node-1 and node-2. */
export function refusalsConformance(harness: Harness, { first, second, gone }: Phases): void {
  const { refuseTarget, spendBudget } = harness.simulate(new VirtualClock());
  const fresh = () => {
    const savedFacts: SavedFacts = new Map();
    return { lab: labWithTargets(harness), savedFacts };
  };

  if (refuseTarget !== undefined) {
    test("leaves out a target that the cloud refuses, and keeps the others", async () => {
      const [run, expected] = [fresh(), fresh()];
      const [web] = first;
      const [, machine] = targetMachines(harness);
      if (web === undefined || machine === undefined)
        throw new Error("The suite needs a Service and targets.");
      run.lab.simulated.refuseTarget?.(machine);
      expect([...(await converge(run, [web])).refused]).toEqual(["node-2"]);
      await converge(expected, [{ ...web, targets: web.targets.filter(({ node }) => node !== "node-2") }]);
      expect(run.lab.state).toBe(expected.lab.state);
    });
  }

  if (spendBudget !== undefined) {
    test("reports a spent rate limit as such, and reaches the same end state", async () => {
      const [run, expected] = [fresh(), fresh()];
      for (const desired of [first, second, gone]) {
        await converge(expected, desired);
        run.lab.simulated.spendBudget?.();
        const error = await listBalancers(run.lab).catch((error: unknown) => error);
        expect(error).toMatchObject({ kind: "rate-limited" });
        await converge(run, desired);
        expect(run.lab.state).toBe(expected.lab.state);
      }
    });
  }
}

// The contract of a provider's routes, in either style: desired routes are created, marked routes that are not desired are
// removed, and all other routes stay as they are.

import { describe, expect, test } from "bun:test";
import { crashes } from "./converge.ts";
import { convergeRoutes } from "./converge-routes.ts";
import { faultPositions, manyRuns, readFaultKinds } from "./faulty-transport.ts";
import type { Lab } from "./lab.ts";
import { routeListingConformance } from "./route-listing-conformance.ts";
import type { Harness } from "./simulated-cloud.ts";
import { labWithTargets, routesTo } from "./targets.ts";

/** Runs the contract of `routes` as bun tests. Call it at the top level of a test file. */
export function routesConformance(name: string, harness: Harness): void {
  const wantedRoute = routesTo(harness);
  const first = [wantedRoute("10.244.1.0/24", 1), wantedRoute("10.244.2.0/24", 2)];
  // One is unchanged, one has another target, one is new.
  const second = [
    wantedRoute("10.244.1.0/24", 1),
    wantedRoute("10.244.2.0/24", 3),
    wantedRoute("10.244.3.0/24", 2),
  ];

  const fresh = () => labWithTargets(harness);
  const stateOf = (lab: Lab): string => lab.state;

  const live = async (lab: Lab): Promise<string[]> => {
    const states: string[] = [];
    for (const wanted of [first, second, []]) {
      await convergeRoutes(lab, wanted);
      states.push(stateOf(lab));
    }
    return states;
  };

  describe(`${name}: routes`, () => {
    routeListingConformance(harness, first);

    test("creates, moves and removes its own routes, and keeps all others", async () => {
      const lab = fresh();
      const before = stateOf(lab);
      const [made, moved, removed] = await live(lab);
      expect(new Set([before, made, moved]).size).toBe(3);
      expect(removed).toBe(before);
      expect([lab.undeclaredMutations, lab.leakedListeners]).toEqual([[], 0]);
    });

    test("changes nothing once converged, also after a restart", async () => {
      const lab = fresh();
      await convergeRoutes(lab, first);
      const before = lab.mutations;
      lab.connect();
      expect(await convergeRoutes(lab, first)).toBe(0);
      expect(lab.mutations).toBe(before);
    });

    test.each(readFaultKinds)(
      "reaches the same end state with a %p fault at every operation",
      async (kind) => {
        const clean = fresh();
        const expected = await live(clean);
        for (const position of faultPositions(clean.requests, kind)) {
          const lab = fresh();
          lab.faulty.failAt(position, kind);
          expect({ position, states: await live(lab) }).toEqual({ position, states: expected });
          expect(lab.leakedListeners).toBe(0);
        }
      },
      manyRuns,
    );

    test("reaches the same end state after a crash between any two steps", async () => {
      const expected = await live(fresh());
      const phases = [first, second, []];
      for (const [phase, wanted] of phases.entries()) {
        for (let steps = 1, hasCrashed = true; hasCrashed; steps++) {
          const lab = fresh();
          for (const earlier of phases.slice(0, phase)) await convergeRoutes(lab, earlier);
          hasCrashed = await crashes(convergeRoutes(lab, wanted, { stepsLeft: steps }));
          lab.connect();
          const left = await convergeRoutes(lab, wanted);
          if (!hasCrashed) expect(left).toBe(0);
          expect({ phase, steps, state: stateOf(lab) }).toEqual({
            phase,
            steps,
            state: expected[phase] as string,
          });
        }
      }
    });

    test("keeps a change that another client made between read and write", async () => {
      const lab = fresh();
      const { disturbRoutes } = lab.simulated;
      if (disturbRoutes === undefined) return;
      await convergeRoutes(lab, first, { beforeChange: disturbRoutes });
      const expected = fresh();
      expected.simulated.disturbRoutes?.();
      await convergeRoutes(expected, first);
      expect(stateOf(lab)).toBe(stateOf(expected));
    });
  });
}

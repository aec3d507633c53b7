// The contract of a provider's routes, in either style: desired routes are created, marked routes that are not desired are
// removed, and all other routes stay as they are.

import { describe, expect, test } from "bun:test";
import { type NodeName, seconds } from "../../core/brand.ts";
import { cidr, cidrContains } from "../../core/cidr.ts";
import { diffByKey } from "../../core/diff-by-key.ts";
import { CloudError } from "../../provider/errors.ts";
import type { DesiredRoute, ObservedRoute, Routes } from "../../provider/routes.ts";
import { DeadlineError } from "../../runtime/deadline.ts";
import { Crash, crashes } from "./converge.ts";
import { faultKinds } from "./faulty-transport.ts";
import { collect, Lab } from "./lab.ts";
import type { Harness } from "./simulated-cloud.ts";

const clusterRange = cidr("10.244.0.0/16");
const maxPasses = 50;

function wantedRoute(range: string, key: string): DesiredRoute {
  return {
    destination: cidr(range),
    target: {
      node: `node-${key}` as NodeName,
      uid: key,
      machine: { source: "machines", key },
      addresses: [],
    },
  };
}

function isOurs({ ownership, destination }: ObservedRoute): boolean {
  return ownership === "marked" || (ownership === "unmarked" && cidrContains(clusterRange, destination));
}

function leadsTo({ target }: DesiredRoute, { targetKey, targetName, leadsNowhere }: ObservedRoute): boolean {
  return (
    leadsNowhere !== true &&
    (targetKey === undefined ? targetName === target.node : targetKey === target.machine?.key)
  );
}

function planOf(wanted: readonly DesiredRoute[], observed: readonly ObservedRoute[]) {
  const { create, update, remove } = diffByKey(wanted, observed.filter(isOurs), {
    keyOfDesired: ({ destination }) => destination,
    keyOfObserved: ({ destination }) => destination,
    isSame: leadsTo,
  });
  return {
    create: [...update.map(({ desired }) => desired), ...create],
    remove: [...update.map((change) => change.observed), ...remove],
  };
}

interface Disturbance {
  /** Called once, between read and write. */
  beforeChange?: (() => void) | undefined;
  /** The process crashes after this many steps. */
  stepsLeft?: number;
}

async function reconcile(
  lab: Lab,
  routes: Routes,
  wanted: readonly DesiredRoute[],
  disturbance: Disturbance,
): Promise<number> {
  const disturb = () => {
    disturbance.beforeChange?.();
    disturbance.beforeChange = undefined;
  };
  const stepDone = () => {
    if (disturbance.stepsLeft === undefined) return;
    disturbance.stepsLeft -= 1;
    if (disturbance.stepsLeft <= 0) throw new Crash();
  };
  if (routes.style === "document") {
    const document = await lab.run((call) => routes.read(call));
    const changes = planOf(wanted, document.routes);
    const count = changes.create.length + changes.remove.length;
    disturb();
    if (count > 0) {
      await lab.run((call) => routes.change(changes, document, call));
      stepDone();
    }
    return count;
  }
  const pages = await lab.run((call) => collect(routes.list(call)));
  const { create, remove } = planOf(
    wanted,
    pages.flatMap((page) => page.routes),
  );
  disturb();
  for (const route of remove) {
    await lab.run((call) => routes.remove(route, call));
    stepDone();
  }
  for (const route of create) {
    await lab.run((call) => routes.create(route, call));
    stepDone();
  }
  return create.length + remove.length;
}

/** Runs the contract of `routes` as bun tests. Call it at the top level of a test file. */
export function routesConformance(name: string, harness: Harness): void {
  const first = [wantedRoute("10.244.1.0/24", "1"), wantedRoute("10.244.2.0/24", "2")];
  // One is unchanged, one has another target, one is new.
  const second = [
    wantedRoute("10.244.1.0/24", "1"),
    wantedRoute("10.244.2.0/24", "3"),
    wantedRoute("10.244.3.0/24", "2"),
  ];

  const fresh = () => new Lab(harness);
  const stateOf = (lab: Lab): string => JSON.stringify(lab.simulated.state());

  const converge = async (
    lab: Lab,
    wanted: readonly DesiredRoute[],
    disturbance: Disturbance = {},
  ): Promise<number> => {
    const { routes } = lab.cloud;
    if (routes === undefined) throw new Error(`${name} has no routes.`);
    let changes = 0;
    for (let count = 0; count < maxPasses; count++) {
      try {
        const made = await reconcile(lab, routes, wanted, disturbance);
        if (made === 0) return changes;
        changes += made;
      } catch (error) {
        if (!CloudError.is(error) && !(error instanceof DeadlineError)) throw error;
        await lab.clock.advance(seconds(5));
      }
    }
    throw new Error(`The routes did not converge within ${maxPasses} passes.`);
  };

  const live = async (lab: Lab): Promise<string[]> => {
    const states: string[] = [];
    for (const wanted of [first, second, []]) {
      await converge(lab, wanted);
      states.push(stateOf(lab));
    }
    return states;
  };

  describe(`${name}: routes`, () => {
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
      await converge(lab, first);
      const before = lab.mutations;
      lab.connect();
      expect(await converge(lab, first)).toBe(0);
      expect(lab.mutations).toBe(before);
    });

    test.each(faultKinds)("reaches the same end state with a %p fault at any request", async (kind) => {
      const clean = fresh();
      const expected = await live(clean);
      for (let position = 0; position < clean.requests.length; position++) {
        const lab = fresh();
        lab.faulty.failAt(position, kind);
        expect({ position, states: await live(lab) }).toEqual({ position, states: expected });
        expect(lab.leakedListeners).toBe(0);
      }
    });

    test("reaches the same end state after a crash between any two steps", async () => {
      const expected = await live(fresh());
      const phases = [first, second, []];
      for (const [phase, wanted] of phases.entries()) {
        for (let steps = 1, hasCrashed = true; hasCrashed; steps++) {
          const lab = fresh();
          for (const earlier of phases.slice(0, phase)) await converge(lab, earlier);
          hasCrashed = await crashes(converge(lab, wanted, { stepsLeft: steps }));
          lab.connect();
          const left = await converge(lab, wanted);
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
      await converge(lab, first, { beforeChange: disturbRoutes });
      const expected = fresh();
      expected.simulated.disturbRoutes?.();
      await converge(expected, first);
      expect(stateOf(lab)).toBe(stateOf(expected));
    });
  });
}

// Drives a provider's routes to their desired state: list, compare, apply, repeat. It has no policies, unlike the real
// controller, and must reach the same end state.

import { seconds } from "../../core/brand.ts";
import { cidr, cidrContains } from "../../core/cidr.ts";
import { diffByKey } from "../../core/diff-by-key.ts";
import { CloudError } from "../../provider/errors.ts";
import type { DesiredRoute, ObservedRoute, Routes } from "../../provider/routes.ts";
import { DeadlineError } from "../../runtime/deadline.ts";
import { Crash } from "./converge.ts";
import { collect, type Lab } from "./lab.ts";

const clusterRange = cidr("10.244.0.0/16");
const maxPasses = 50;

function isOurs({ ownership, destination }: ObservedRoute): boolean {
  return ownership === "marked" || (ownership === "unmarked" && cidrContains(clusterRange, destination));
}

function leadsTo({ target }: DesiredRoute, route: ObservedRoute): boolean {
  const { targetKey, targetName, targetAddress, leadsNowhere } = route;
  if (leadsNowhere === true) return false;
  if (targetKey !== undefined) return targetKey === target.machine?.key;
  if (targetName !== undefined) return targetName === target.node;
  return targetAddress !== undefined && target.addresses.includes(targetAddress);
}

export function planOf(wanted: readonly DesiredRoute[], observed: readonly ObservedRoute[]) {
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

export interface Disturbance {
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

/** All routes that the provider lists. */
export async function listRoutes(lab: Lab): Promise<readonly ObservedRoute[]> {
  const routes = routesOf(lab);
  if (routes.style === "document") return (await lab.run((call) => routes.read(call))).routes;
  return (await lab.run((call) => collect(routes.list(call)))).flatMap((page) => page.routes);
}

export function routesOf({ cloud: { routes } }: Lab): Routes {
  if (routes === undefined) throw new Error("This provider has no routes.");
  return routes;
}

/** Reconciles until nothing is left to do, and returns the number of changes. */
export async function convergeRoutes(
  lab: Lab,
  wanted: readonly DesiredRoute[],
  disturbance: Disturbance = {},
): Promise<number> {
  const routes = routesOf(lab);
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
}

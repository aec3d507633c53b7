// Drives a provider's route tables to their desired state: list, compare, apply, repeat. It has no policies, unlike the real
// controller, and must reach the same end state.

import { seconds } from "../../core/brand.ts";
import { cidr, cidrContains, cidrFamily } from "../../core/cidr.ts";
import { diffByKey } from "../../core/diff-by-key.ts";
import { CloudError } from "../../provider/errors.ts";
import { type ServingTable, tablesOf } from "../../provider/route-tables.ts";
import type { DesiredRoute, ObservedRoute } from "../../provider/routes.ts";
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

/** The routes that this table needs. */
export function neededIn(table: ServingTable, wanted: readonly DesiredRoute[]): readonly DesiredRoute[] {
  return wanted.filter(
    ({ destination, target }) =>
      table.serves(target) && table.routes.families.includes(cidrFamily(destination)),
  );
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
  table: ServingTable,
  disturbance: Disturbance,
  everyTable: readonly DesiredRoute[],
): Promise<number> {
  const { routes } = table;
  const wanted = neededIn(table, everyTable);
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

/** All routes that the provider lists, in all tables. */
export async function listRoutes(lab: Lab): Promise<readonly ObservedRoute[]> {
  const all: ObservedRoute[] = [];
  for (const { routes } of tablesIn(lab)) {
    if (routes.style === "document") all.push(...(await lab.run((call) => routes.read(call))).routes);
    else for (const page of await lab.run((call) => collect(routes.list(call)))) all.push(...page.routes);
  }
  return all;
}

export function tablesIn({ cloud: { routes } }: Lab): readonly ServingTable[] {
  if (routes === undefined) throw new Error("This provider has no routes.");
  return tablesOf(routes);
}

/** Reconciles until nothing is left to do, and returns the number of changes. */
export async function convergeRoutes(
  lab: Lab,
  wanted: readonly DesiredRoute[],
  disturbance: Disturbance = {},
): Promise<number> {
  const tables = tablesIn(lab);
  let changes = 0;
  for (let count = 0; count < maxPasses; count++) {
    try {
      let made = 0;
      for (const table of tables) made += await reconcile(lab, table, disturbance, wanted);
      if (made === 0) return changes;
      changes += made;
    } catch (error) {
      if (!CloudError.is(error) && !(error instanceof DeadlineError)) throw error;
      await lab.clock.advance(seconds(5));
    }
  }
  throw new Error(`The routes did not converge within ${maxPasses} passes.`);
}

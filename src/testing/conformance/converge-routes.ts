// Drives a provider's route tables to their desired state: list, plan, apply, repeat. Plans and the adapters for complex clouds
// come from the framework; its backoffs and limits are omitted.

import type { RouteTable } from "../../cloud/ideal-route-tables.ts";
import type { RouteChange } from "../../cloud/own-route-changes.ts";
import { planRoutes } from "../../controllers/route/plan/plan.ts";
import type { ServingTable } from "../../controllers/route/tables.ts";
import { milliseconds } from "../../core/brand.ts";
import { cidr, cidrFamily } from "../../core/cidr.ts";
import type { Call } from "../../provider/call.ts";
import type { DesiredRoute, ObservedRoute, RouteOutcome } from "../../provider/routes.ts";
import { collect, type Lab } from "./lab.ts";
import { Crash, endOfOperation, memoryOf, repeatPasses } from "./process-memory.ts";

const clusterCIDRs = [cidr("10.244.0.0/16"), cidr("fd00:10:244::/56")];
const nothing: ReadonlySet<never> = new Set<never>();
const exempt = { destinations: nothing, keys: nothing, names: nothing, addresses: nothing };

/** The routes that this table needs. */
export function neededIn(
  { serves, families }: Pick<ServingTable, "serves" | "families">,
  wanted: readonly DesiredRoute[],
): readonly DesiredRoute[] {
  return wanted.filter(
    ({ destination, target }) => serves(target) && families.includes(cidrFamily(destination)),
  );
}

export function planOf(desired: readonly DesiredRoute[], observed: readonly ObservedRoute[]) {
  return planRoutes({ desired, observed, exempt, clusterCIDRs });
}

export interface Disturbance {
  /** Called once, between read and write. */
  beforeChange?: (() => void) | undefined;
  /** The process crashes after this many steps. */
  stepsLeft?: number;
}

/** The tables of the process: a new connection creates a new table. */
function tablesIn({ cloud, clock }: Lab): readonly RouteTable[] {
  return memoryOf(cloud).routeTables(cloud, clock);
}

/** All routes of a table. */
async function readTable(lab: Lab, table: RouteTable): Promise<readonly ObservedRoute[]> {
  const pages = await lab.run((call) => collect(table.list(call)));
  return pages.flatMap(({ routes }) => routes);
}

/**
 * Sends the removals and then the creations; all at once if the table sends them together. Returns the outcomes, or throws the
 * first error after all requests have ended.
 */
async function sendChanges(
  lab: Lab,
  table: RouteTable,
  { create, remove }: Pick<ReturnType<typeof planOf>, "create" | "remove">,
  onOutcome: (change: RouteChange, outcome: RouteOutcome) => Promise<void>,
): Promise<void> {
  const removals = remove.map((route) => ({ do: "remove", route }) as const);
  const changes = [...removals, ...create.map((route) => ({ do: "create", route }) as const)];
  const send = (change: RouteChange, call: Call): Promise<RouteOutcome> =>
    change.do === "create" ? table.create(change.route, call) : table.remove(change.route, call);
  if (!table.sendsTogether) {
    for (const change of changes) await onOutcome(change, await lab.run((call) => send(change, call)));
    return;
  }
  const ends = await lab.run((call) => Promise.allSettled(changes.map((change) => send(change, call))));
  for (const [index, end] of ends.entries()) {
    if (end.status === "rejected") throw end.reason;
    await onOutcome(changes[index] as RouteChange, end.value);
  }
}

/** One pass over a table. Returns the changes. */
async function reconcile(
  lab: Lab,
  table: RouteTable,
  wanted: readonly DesiredRoute[],
  disturbance: Disturbance,
): Promise<readonly string[]> {
  const { create, remove } = planOf(neededIn(table, wanted), await readTable(lab, table));
  disturbance.beforeChange?.();
  disturbance.beforeChange = undefined;
  await sendChanges(lab, table, { create, remove }, async (change, outcome) => {
    const isCrashing = disturbance.stepsLeft !== undefined && --disturbance.stepsLeft <= 0;
    if (isCrashing) throw new Crash();
    if (outcome.done) return;
    const { operation, checkAfter } = outcome;
    if (operation === undefined) await lab.clock.advance(checkAfter);
    else if ((await endOfOperation(lab, operation, checkAfter)) !== undefined) table.noteDone(change);
  });
  return [
    ...remove.map(({ destination }) => `remove ${destination}`),
    ...create.map(({ destination }) => `create ${destination}`),
  ].map((change) => (table.name === undefined ? change : `${table.name}: ${change}`));
}

/** True if the last listings may lack changes. Another pass is then needed. */
async function waitForShown(lab: Lab, tables: readonly RouteTable[]): Promise<boolean> {
  const times = tables.flatMap(({ shownAt }) => shownAt ?? []);
  if (times.length === 0) return false;
  await lab.clock.advance(milliseconds(Math.max(0, Math.max(...times) - lab.clock.monotonic())));
  return true;
}

/** Reconciles until nothing is left to do, and returns the number of changes. */
export async function convergeRoutes(
  lab: Lab,
  wanted: readonly DesiredRoute[],
  disturbance: Disturbance = {},
): Promise<number> {
  const tables = tablesIn(lab);
  const readsLag = Math.max(0, ...tables.map((table) => table.proofsApart(milliseconds(0))));
  let count = 0;
  await repeatPasses(lab, "routes", milliseconds(readsLag), async (note) => {
    const made: string[] = [];
    for (const table of tables) made.push(...(await reconcile(lab, table, wanted, disturbance)));
    if (made.length === 0) return !(await waitForShown(lab, tables));
    note(`The last plan: ${made.join(", ")}.`);
    count += made.length;
    return false;
  });
  return count;
}

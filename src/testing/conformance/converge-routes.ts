// Drives a provider's route tables to their desired state: list, plan, apply, repeat. Plans are those of the framework; its backoffs
// and limits are left out.

import { requestedDelay } from "../../cloud/error-policies.ts";
import type { OwnChanges } from "../../controllers/route/observed/own-changes.ts";
import { planRoutes } from "../../controllers/route/plan/plan.ts";
import { type Milliseconds, milliseconds, seconds } from "../../core/brand.ts";
import { cidr, cidrFamily } from "../../core/cidr.ts";
import { messageOf } from "../../core/errors.ts";
import type { Call } from "../../provider/call.ts";
import { CloudError } from "../../provider/errors.ts";
import { type ServingTable, tablesOf } from "../../provider/route-tables.ts";
import type {
  DesiredRoute,
  ObservedRoute,
  RouteDocument,
  RouteOutcome,
  Routes,
} from "../../provider/routes.ts";
import { DeadlineError } from "../../runtime/deadline.ts";
import { Crash } from "./converge.ts";
import { endOfOperation } from "./end-of-operation.ts";
import { collect, type Lab } from "./lab.ts";
import { memoryOf } from "./process-memory.ts";

const clusterCIDRs = [cidr("10.244.0.0/16"), cidr("fd00:10:244::/56")];
const nothing: ReadonlySet<never> = new Set<never>();
const exempt = { destinations: nothing, keys: nothing, names: nothing, addresses: nothing };
const maxPasses = 50;
const errorDelay: Milliseconds = seconds(5);

/** The routes that this table needs. */
export function neededIn(table: ServingTable, wanted: readonly DesiredRoute[]): readonly DesiredRoute[] {
  return wanted.filter(
    ({ destination, target }) =>
      table.serves(target) && table.routes.families.includes(cidrFamily(destination)),
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

/** One table, with what is observed there. */
class TableConvergence {
  readonly #lab: Lab;
  readonly #table: ServingTable;
  readonly #disturbance: Disturbance;

  constructor(lab: Lab, table: ServingTable, disturbance: Disturbance) {
    this.#lab = lab;
    this.#table = table;
    this.#disturbance = disturbance;
  }

  /** Returns the changes. */
  async reconcile(everyTable: readonly DesiredRoute[]): Promise<readonly string[]> {
    const { routes } = this.#table;
    const beganAt = this.#lab.clock.monotonic();
    const { listed, document } = await readTable(this.#lab, routes);
    const observed = this.#ownChanges.applyTo(listed, beganAt);
    const { create, remove } = planOf(neededIn(this.#table, everyTable), observed);
    this.#disturbance.beforeChange?.();
    this.#disturbance.beforeChange = undefined;
    const changes = [
      ...remove.map((route) => ({ do: "remove", route }) as const),
      ...create.map((route) => ({ do: "create", route }) as const),
    ];
    if (routes.style === "document") {
      if (changes.length > 0 && document !== undefined)
        await this.#change(changes, (call) => routes.change({ create, remove }, document, call));
    } else {
      for (const route of remove)
        await this.#change([{ do: "remove", route }], (call) => routes.remove(route, call));
      for (const route of create)
        await this.#change([{ do: "create", route }], (call) => routes.create(route, call));
    }
    return changes.map((change) => `${change.do} ${change.route.destination}`);
  }

  /** When a listing shows all changes so far; undefined if the last one did. */
  get shownAt(): number | undefined {
    return this.#ownChanges.shownAt;
  }

  get #ownChanges(): OwnChanges {
    return memoryOf(this.#lab.cloud).ownChanges(this.#table.name);
  }

  async #change(
    changes: readonly Parameters<OwnChanges["note"]>[0][],
    send: (call: Call) => Promise<RouteOutcome>,
  ): Promise<void> {
    const { readsLag } = this.#table.routes;
    const outcome = await this.#lab.run(send);
    const isCrashing = this.#disturbance.stepsLeft !== undefined && --this.#disturbance.stepsLeft <= 0;
    if (isCrashing) throw new Crash();
    if (!(await this.#isDone(outcome)) || readsLag === undefined) return;
    for (const change of changes) this.#ownChanges.note(change, this.#lab.clock.monotonic(), readsLag);
  }

  /** False if it is not known: the next listing shows it. */
  async #isDone(outcome: RouteOutcome): Promise<boolean> {
    if (outcome.done) return true;
    const { operation, checkAfter } = outcome;
    if (operation !== undefined)
      return (await endOfOperation(this.#lab, operation, checkAfter)) !== undefined;
    const { readsLag = 0 } = this.#table.routes;
    await this.#lab.clock.advance(milliseconds(Math.max(checkAfter, readsLag)));
    return false;
  }
}

/** Whether the last listings may not show all changes: another pass must look. */
async function waitForShown(
  lab: Lab,
  tables: readonly { readonly convergence: TableConvergence }[],
): Promise<boolean> {
  const times = tables.flatMap(({ convergence }) => convergence.shownAt ?? []);
  if (times.length === 0) return false;
  await lab.clock.advance(milliseconds(Math.max(0, Math.max(...times) - lab.clock.monotonic())));
  return true;
}

/** All routes of a table, and the document if it is one. */
export async function readTable(
  lab: Lab,
  routes: Routes,
): Promise<{ readonly listed: readonly ObservedRoute[]; readonly document: RouteDocument | undefined }> {
  if (routes.style === "document") {
    const document = await lab.run((call) => routes.read(call));
    return { listed: document.routes, document };
  }
  const pages = await lab.run((call) => collect(routes.list(call)));
  return { listed: pages.flatMap((page) => page.routes), document: undefined };
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
  const tables = tablesIn(lab).map((table) => ({
    table,
    convergence: new TableConvergence(lab, table, disturbance),
  }));
  let count = 0;
  let last = "";
  for (let pass = 0; pass < maxPasses; pass++) {
    try {
      const made: string[] = [];
      for (const { table, convergence } of tables) {
        const changes = await convergence.reconcile(wanted);
        made.push(
          ...changes.map((change) => (table.name === undefined ? change : `${table.name}: ${change}`)),
        );
      }
      if (made.length === 0 && !(await waitForShown(lab, tables))) return count;
      last = `The last plan: ${made.join(", ")}.`;
      count += made.length;
    } catch (error) {
      if (!CloudError.is(error) && !(error instanceof DeadlineError)) throw error;
      last = `The last pass failed: ${messageOf(error)}`;
      const lags = tables.map(({ table }) => table.routes.readsLag ?? 0);
      const requested = requestedDelay(error, lab.clock) ?? errorDelay;
      await lab.clock.advance(milliseconds(Math.max(requested, errorDelay) + Math.max(...lags)));
    }
  }
  throw new Error(`The routes did not converge within ${maxPasses} passes. ${last}`);
}

// Reports problems of route tables and their routes: as an event on the Node that they concern, or as a warning in the log. A problem
// that lasts is reported once, also if several tables have it in common.

import type { Milliseconds } from "../../../core/brand.ts";
import { defined } from "../../../core/defined.ts";
import type { Problem } from "../../../core/problem.ts";
import { shortList } from "../../../core/text.ts";
import type { NodeEvent } from "../../node-deps.ts";
import { ReportDeduplicator } from "../../report-deduplicator.ts";
import type { LimitedChanges } from "../absence/limit-changes.ts";
import type { RouteControllerOptions, TableOptions } from "../deps.ts";
import type { DesiredRoutes } from "../desired/plan-desired.ts";
import {
  changeUnknown,
  createFailed,
  listFailed,
  massRouteChangeHeld,
  massRouteRecreationHeld,
  massRouteRecreationReason,
  removeFailed,
  routeCreatedButNotListed,
  syncFailed,
  tableNearLimit,
} from "../events.ts";
import type { RouteListing } from "../observed/table-listing.ts";
import type { ChangeResult, RouteChange } from "../plan/changes.ts";
import type { RoutePlan } from "../plan/plan.ts";

type ProblemsByNode = ReadonlyMap<string, readonly Problem[]>;

/** The problems of routes that concern single Nodes. Shared by all tables. */
export class NodeProblems {
  readonly #options: Pick<RouteControllerOptions, "nodes" | "report">;
  readonly #byTable = new Map<string | undefined, ProblemsByNode>();
  readonly #reported = new ReportDeduplicator();

  constructor(options: Pick<RouteControllerOptions, "nodes" | "report">) {
    this.#options = options;
  }

  /** The active problems, by Node. */
  get all(): ProblemsByNode {
    const names = new Set([...this.#byTable.values()].flatMap((byNode) => [...byNode.keys()]));
    return new Map([...names].map((name) => [name, this.#of(name)]));
  }

  /** Another replica may have led since. */
  clear(): void {
    this.#byTable.clear();
  }

  /** Replaces the problems that this table has with each Node. */
  report(table: string | undefined, byNode: ProblemsByNode): void {
    this.#byTable.set(table, byNode);
    const names = this.#options.nodes.list().map(({ metadata }) => metadata.name);
    this.#reported.forgetAllBut(new Set(names));
    for (const name of names) {
      for (const { reason, text } of this.#reported.news(name, this.#of(name))) {
        // One line about the hold is logged for all Nodes.
        const quiet = reason === massRouteRecreationReason ? ({ quiet: true } as const) : {};
        this.send(name, { type: "Warning", reason, message: text, ...quiet });
      }
    }
  }

  #of(name: string): readonly Problem[] {
    return [...this.#byTable.values()].flatMap((problemsOf) => problemsOf.get(name) ?? []);
  }

  send(name: string, event: NodeEvent): void {
    const node = this.#options.nodes.get(name);
    if (node !== undefined) this.#options.report(node, event);
  }
}

/** A change in progress that cannot be checked, and why. */
export interface UncheckedChange {
  readonly change: RouteChange;
  readonly error: unknown;
}

type RouteReporterOptions = Pick<
  TableOptions,
  "routes" | "table" | "settings" | "removals" | "reportHold" | "reportProblem" | "note"
>;

type Subject = "table" | "listing" | "sync";

export class RouteReporter {
  readonly #options: RouteReporterOptions;
  /** Shared by all tables. */
  readonly #nodeProblems: NodeProblems;
  readonly #reported = new ReportDeduplicator();
  #isHolding = false;

  constructor(options: RouteReporterOptions, nodeProblems: NodeProblems) {
    this.#options = options;
    this.#nodeProblems = nodeProblems;
  }

  problems(
    desired: DesiredRoutes,
    listing: RouteListing,
    plan: RoutePlan,
    unchecked: readonly UncheckedChange[],
    { held, unlisted }: Pick<LimitedChanges, "held" | "unlisted">,
  ): void {
    const { routes, table, settings, removals } = this.#options;
    const fill = {
      routes: listing.routes.length + plan.create.length - plan.remove.length,
      limit: routes.limit,
      table,
    };
    const ofTable = [...listing.problems, ...desired.problems, ...tableNearLimit(fill, settings.nearLimit)];
    const byNode = new Map([...desired.nodeProblems].map(([name, problems]) => [name, [...problems]]));
    const addToNode = (name: string, problem: Problem): void => {
      byNode.set(name, [...(byNode.get(name) ?? []), problem]);
    };
    for (const { route, problem } of plan.refused) addToNode(route.target.node, problem);
    const missing = new Set(
      held.filter(({ absent }) => absent === "route").map(({ destination }) => destination),
    );
    const created = new Map(unlisted.map((route) => [route.destination, route.unlisted ?? 0] as const));
    for (const { destination, target } of desired.routes) {
      if (missing.has(destination))
        addToNode(target.node, massRouteRecreationHeld(destination, removals.howToRelease("routes"), table));
      const count = created.get(destination);
      if (count !== undefined) addToNode(target.node, routeCreatedButNotListed(destination, count, table));
    }
    for (const { change, error } of unchecked) {
      const problem = changeUnknown(change.do, change.route.destination, error, table);
      if (change.do === "remove") ofTable.push(problem);
      else addToNode(change.route.target.node, problem);
    }
    this.#report("listing", []);
    this.#report("table", ofTable);
    this.#nodeProblems.report(table, byNode);
  }

  /** Reports a hold once while it lasts. */
  hold({ held, counts, allowed }: LimitedChanges): void {
    const { removals, reportHold, note, table } = this.#options;
    if (held.length === 0) {
      if (this.#isHolding) note("No route change is held by --removal-limit any more", defined({ table }));
      this.#isHolding = false;
      return;
    }
    if (!this.#isHolding)
      reportHold(massRouteChangeHeld(held, counts, allowed, removals.howToRelease("routes"), table));
    this.#isHolding = true;
  }

  /** Logs the changes that the cloud accepted in one sync, in one line. */
  changed(results: readonly ChangeResult[]): void {
    this.#report("sync", []);
    const accepted = results.filter(({ outcome: { kind } }) => kind === "done" || kind === "pending");
    if (accepted.length === 0) return;
    const created = accepted.filter(({ change }) => change.do === "create").length;
    const underWay = accepted.filter(({ outcome }) => outcome.kind === "pending").length;
    this.#options.note("Routes changed in the cloud", {
      ...defined({ table: this.#options.table }),
      created,
      removed: accepted.length - created,
      ...(underWay === 0 ? {} : { underWay }),
      routes: shortList(
        accepted.map(({ change }) =>
          change.do === "create"
            ? `+${change.route.destination} to ${change.route.target.node}`
            : `-${change.route.destination}`,
        ),
      ),
    });
  }

  /** Reports every failure, as upstream does. The backoffs limit how often that happens. */
  failure(change: RouteChange, error: unknown, took: Milliseconds): void {
    const { table, reportProblem } = this.#options;
    if (change.do === "remove") reportProblem(removeFailed(change.route, error, table));
    else this.#nodeProblems.send(change.route.target.node, createFailed(change.route, took, error, table));
  }

  failedListing(error: unknown): void {
    this.#report("listing", [listFailed(error, this.#options.table)]);
  }

  failedSync(error: unknown): void {
    this.#report("sync", [syncFailed(error, this.#options.table)]);
  }

  #report(subject: Subject, problems: readonly Problem[]): void {
    for (const problem of this.#reported.news(subject, problems)) this.#options.reportProblem(problem);
  }
}

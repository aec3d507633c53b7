// Reports problems of routes: as an event on the Node that they concern, or as a warning in the log. A problem that
// lasts is reported once.

import type { Milliseconds } from "../../../core/brand.ts";
import type { Problem } from "../../../core/problem.ts";
import { shortList } from "../../../core/text.ts";
import type { NodeEvent } from "../../node-deps.ts";
import { ReportDeduplicator } from "../../report-deduplicator.ts";
import type { LimitedChanges } from "../absence/limit-changes.ts";
import type { RouteControllerOptions } from "../deps.ts";
import type { DesiredRoutes } from "../desired/plan-desired.ts";
import {
  changeUnknown,
  createFailed,
  listFailed,
  removeFailed,
  routeChangesHeld,
  routeCreationHeld,
  routeCreationHeldReason,
  syncFailed,
  tableNearLimit,
} from "../events.ts";
import type { RouteListing } from "../observed/route-table.ts";
import type { ChangeResult, RouteChange } from "../plan/changes.ts";
import type { RoutePlan } from "../plan/plan.ts";

/** A change in progress that cannot be checked, and why. */
export interface UncheckedChange {
  readonly change: RouteChange;
  readonly error: unknown;
}

type RouteReporterOptions = Pick<
  RouteControllerOptions,
  "nodes" | "routes" | "settings" | "removals" | "report" | "reportHold" | "reportProblem" | "note"
>;

/** Subjects of the deduplicator besides Nodes; no Node can have such a name. */
const subjects = { table: " table", listing: " listing", sync: " sync" } as const;

export class RouteReporter {
  readonly #options: RouteReporterOptions;
  readonly #reported = new ReportDeduplicator();
  #isHolding = false;

  constructor(options: RouteReporterOptions) {
    this.#options = options;
  }

  problems(
    desired: DesiredRoutes,
    listing: RouteListing,
    plan: RoutePlan,
    unchecked: readonly UncheckedChange[],
    { held }: Pick<LimitedChanges, "held">,
  ): void {
    const { nodes, routes, settings, removals } = this.#options;
    const fill = {
      routes: listing.routes.length + plan.create.length - plan.remove.length,
      limit: routes.limit,
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
    for (const { destination, target } of desired.routes) {
      if (missing.has(destination))
        addToNode(target.node, routeCreationHeld(destination, removals.howToRelease("routes")));
    }
    for (const { change, error } of unchecked) {
      const problem = changeUnknown(change.do, change.route.destination, error);
      if (change.do === "remove") ofTable.push(problem);
      else addToNode(change.route.target.node, problem);
    }
    this.#report(subjects.listing, []);
    this.#report(subjects.table, ofTable);
    const names = nodes.list().map(({ metadata }) => metadata.name);
    this.#reported.forgetAllBut(new Set([...Object.values(subjects), ...names]));
    for (const name of names) {
      for (const { reason, text } of this.#reported.news(name, byNode.get(name) ?? [])) {
        // One line about the hold is logged for all Nodes.
        const quiet = reason === routeCreationHeldReason ? ({ quiet: true } as const) : {};
        this.#sendEvent(name, { type: "Warning", reason, message: text, ...quiet });
      }
    }
  }

  /** Reports a hold once while it lasts. */
  hold({ held, counts, allowed }: LimitedChanges): void {
    const { removals, reportHold, note } = this.#options;
    if (held.length === 0) {
      if (this.#isHolding) note("No route change is held by --route-removal-limit any more", {});
      this.#isHolding = false;
      return;
    }
    if (!this.#isHolding)
      reportHold(routeChangesHeld(held, counts, allowed, removals.howToRelease("routes")));
    this.#isHolding = true;
  }

  /** Logs the changes that the cloud accepted in one sync, in one line. */
  changed(results: readonly ChangeResult[]): void {
    this.#report(subjects.sync, []);
    const accepted = results.filter(({ outcome: { kind } }) => kind === "done" || kind === "pending");
    if (accepted.length === 0) return;
    const created = accepted.filter(({ change }) => change.do === "create").length;
    const underWay = accepted.filter(({ outcome }) => outcome.kind === "pending").length;
    this.#options.note("Routes changed in the cloud", {
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
    if (change.do === "remove") this.#options.reportProblem(removeFailed(change.route, error));
    else this.#sendEvent(change.route.target.node, createFailed(change.route, took, error));
  }

  failedListing(error: unknown): void {
    this.#report(subjects.listing, [listFailed(error)]);
  }

  failedSync(error: unknown): void {
    this.#report(subjects.sync, [syncFailed(error)]);
  }

  #report(subject: string, problems: readonly Problem[]): void {
    for (const problem of this.#reported.news(subject, problems)) this.#options.reportProblem(problem);
  }

  #sendEvent(name: string, event: NodeEvent): void {
    const node = this.#options.nodes.get(name);
    if (node !== undefined) this.#options.report(node, event);
  }
}

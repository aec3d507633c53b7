// Reports problems of route tables and their routes: as an event on the Node that they concern, or as a warning in the log. A problem
// that lasts is reported once, also if several tables have it in common.

import type { Milliseconds } from "../../../core/brand.ts";
import { defined } from "../../../core/defined.ts";
import type { Problem } from "../../../core/problem.ts";
import { shortList } from "../../../core/text.ts";
import type { Node } from "../../../kube/objects.ts";
import {
  type Finding,
  type ObjectEvent,
  problemEvent,
  problemFinding,
  Reporter,
  ReportsByName,
} from "../../reporter.ts";
import type { LimitedChanges } from "../absence/allowed-changes.ts";
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
import type { RoutePlan } from "../plan/plan.ts";
import type { ChangeResult, RouteChange } from "../plan/route-change.ts";

type ProblemsByNode = ReadonlyMap<string, readonly Problem[]>;

/** The problems of routes that concern single Nodes. Shared by all tables. */
export class NodeProblems {
  readonly #options: Pick<RouteControllerOptions, "nodes" | "report">;
  readonly #byTable = new Map<string | undefined, ProblemsByNode>();
  readonly #reports = new ReportsByName<"routes">();
  readonly #reporter: Reporter<Node, "routes">;

  constructor(options: Pick<RouteControllerOptions, "nodes" | "report">) {
    this.#options = options;
    this.#reporter = new Reporter(options.report, this.#reports);
  }

  /** The active problems, by Node. */
  get findings(): ReadonlyMap<string, readonly Finding[]> {
    const names = new Set([...this.#byTable.values()].flatMap((byNode) => [...byNode.keys()]));
    const found = [...names].map((name) => [name, this.#of(name).map(problemFinding)] as const);
    return new Map(found.filter(([, findings]) => findings.length > 0));
  }

  /** Another replica may have led since. */
  clear(): void {
    this.#byTable.clear();
  }

  /** Replaces the problems that this table has with each Node. */
  report(table: string | undefined, byNode: ProblemsByNode): void {
    this.#byTable.set(table, byNode);
    const nodes = this.#options.nodes.list();
    this.#reports.forgetAllBut(new Set(nodes.map(({ metadata }) => metadata.name)));
    for (const node of nodes) {
      const events = this.#of(node.metadata.name).map(problemEvent);
      this.#reporter.report(node, "routes", events.map(quietIfHeld));
    }
  }

  #of(name: string): readonly Problem[] {
    return [...this.#byTable.values()].flatMap((problemsOf) => problemsOf.get(name) ?? []);
  }

  send(name: string, event: ObjectEvent): void {
    const node = this.#options.nodes.get(name);
    if (node !== undefined) this.#options.report(node, event);
  }
}

/** One line about the hold is logged for all Nodes. */
function quietIfHeld(event: ObjectEvent): ObjectEvent {
  return event.reason === massRouteRecreationReason ? { ...event, quiet: true } : event;
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

type Topic = "table" | "listing" | "sync" | "hold";

/** Its problems concern no object, and are logged. */
const wholeTable = { metadata: { name: "table", uid: "" } } as const;

export class RouteReporter {
  readonly #options: RouteReporterOptions;
  /** Shared by all tables. */
  readonly #nodeProblems: NodeProblems;
  readonly #reports = new ReportsByName<Topic>();
  readonly #reporter: Reporter<typeof wholeTable, Topic>;

  constructor(options: RouteReporterOptions, nodeProblems: NodeProblems) {
    this.#options = options;
    this.#nodeProblems = nodeProblems;
    const { reportHold, reportProblem } = options;
    this.#reporter = new Reporter(
      (_, event, topic) => (topic === "hold" ? reportHold : reportProblem)(event),
      this.#reports,
    );
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
    const { removals, note, table } = this.#options;
    if (held.length === 0 && this.#reports.of(wholeTable).has("hold"))
      note("No route change is held by --removal-limit any more", defined({ table }));
    const howToRelease = removals.howToRelease("routes");
    const event = () => massRouteChangeHeld(held, counts, allowed, howToRelease, table);
    this.#reporter.report(wholeTable, "hold", held.length === 0 ? [] : [event()]);
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
    if (change.do === "remove") reportProblem(problemEvent(removeFailed(change.route, error, table)));
    else this.#nodeProblems.send(change.route.target.node, createFailed(change.route, took, error, table));
  }

  failedListing(error: unknown): void {
    this.#report("listing", [listFailed(error, this.#options.table)]);
  }

  failedSync(error: unknown): void {
    this.#report("sync", [syncFailed(error, this.#options.table)]);
  }

  #report(topic: Topic, problems: readonly Problem[]): void {
    this.#reporter.report(wholeTable, topic, problems.map(problemEvent));
  }
}

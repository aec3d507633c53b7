// Reports problems of route tables and their routes: as an event on the Node that they concern, or as a warning in the log. A problem
// that lasts is reported once, also if several tables have it in common.

import type { Cidr, Milliseconds } from "../../../core/brand.ts";
import { defined } from "../../../core/defined.ts";
import type { Problem } from "../../../core/problem.ts";
import { shortList } from "../../../core/text.ts";
import type { Node } from "../../../kube/objects.ts";
import { describeError } from "../../classify-error.ts";
import { isUninitialized } from "../../node-facts.ts";
import { isPaused } from "../../pause.ts";
import {
  type Finding,
  findingsIn,
  type ObjectEvent,
  problemEvent,
  problemFinding,
  Reporter,
  ReportsByName,
} from "../../reporter.ts";
import type { LimitedChanges } from "../absence/allowed-changes.ts";
import { hadRoutes } from "../absence/route-evidence.ts";
import type { OpenChanges } from "../apply/open-changes.ts";
import type { RouteControllerOptions, TableOptions } from "../deps.ts";
import { type DesiredRoutes, podCIDRsOf } from "../desired/plan-desired.ts";
import {
  changeUnknown,
  createFailed,
  listFailed,
  massRouteChangeHeld,
  massRouteRecreationHeld,
  massRouteRecreationReason,
  removeFailed,
  routeCreatedButNotListed,
  routeUnfinished,
  routeUnproved,
  syncFailed,
  tableNearLimit,
} from "../events.ts";
import type { RouteListing } from "../observed/table-listing.ts";
import type { RoutePlan } from "../plan/plan.ts";
import { type ChangeResult, keyOf, type RouteChange } from "../plan/route-change.ts";
import { targetOf } from "../plan/survey.ts";
import { concernedTables } from "../tables.ts";

type ProblemsByNode = ReadonlyMap<string, readonly Problem[]>;
type NodeProblemsOptions = Pick<
  RouteControllerOptions,
  "nodes" | "report" | "isSelected" | "inventory" | "tables"
>;

/** What lasts although no listing of the table succeeds. */
interface Failures {
  /** Concerns every Node without a route that the table serves. */
  readonly listing?: Finding | undefined;
  /** Of creations, by Node. */
  readonly byNode: ReadonlyMap<string, readonly Finding[]>;
}

/** The problems of routes that concern single Nodes. Shared by all tables. */
export class NodeProblems {
  readonly #options: NodeProblemsOptions;
  readonly #failures = new Map<string | undefined, Failures>();
  readonly #byTable = new Map<string | undefined, ProblemsByNode>();
  readonly #reports = new ReportsByName<"routes">();
  readonly #reporter: Reporter<Node, "routes">;

  constructor(options: NodeProblemsOptions) {
    this.#options = options;
    this.#reporter = new Reporter(options.report, this.#reports);
  }

  /** The active problems, by Node. */
  get findings(): ReadonlyMap<string, readonly Finding[]> {
    const found = new Map<string, readonly Finding[]>();
    const add = (name: string, findings: readonly Finding[]): void => {
      if (findings.length > 0) found.set(name, [...(found.get(name) ?? []), ...findings]);
    };
    for (const byNode of this.#byTable.values())
      for (const [name, problems] of byNode) add(name, problems.map(problemFinding));
    for (const [table, { listing, byNode }] of this.#failures) {
      for (const [name, findings] of byNode) add(name, findings);
      if (listing !== undefined) for (const name of this.#nodesWithoutRoutes(table)) add(name, [listing]);
    }
    return found;
  }

  /** Replaces what the table fails to do. */
  failing(table: string | undefined, failures: Failures): void {
    this.#failures.set(table, failures);
  }

  /** Another replica may have led since. */
  clear(): void {
    this.#byTable.clear();
    this.#failures.clear();
  }

  /** Those that the table may serve. */
  #nodesWithoutRoutes(table: string | undefined): readonly string[] {
    const { nodes, isSelected, inventory, tables } = this.#options;
    const needsTable = (node: Node): boolean =>
      concernedTables(tables, [targetOf(inventory, node)]).some(({ name }) => name === table);
    return nodes
      .list()
      .filter((node) => isSelected(node) && awaitsRoutes(node) && needsTable(node))
      .map(({ metadata }) => metadata.name);
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

/** Whether the Node needs routes and does not show that it has them. */
function awaitsRoutes(node: Node): boolean {
  return !isPaused(node) && !isUninitialized(node) && podCIDRsOf(node).length > 0 && !hadRoutes(node);
}

/** One line about the hold is logged for all Nodes. */
function quietIfHeld(event: ObjectEvent): ObjectEvent {
  return event.reason === massRouteRecreationReason ? { ...event, quiet: true } : event;
}

type RouteReporterOptions = Pick<
  TableOptions,
  "routes" | "table" | "settings" | "removals" | "reportHold" | "reportProblem" | "note"
>;

interface NodeFinding {
  readonly node: string;
  readonly finding: Finding;
}

type Topic = "table" | "listing" | "sync" | "hold";

/** Its problems concern no object of Kubernetes, and are logged. */
const wholeTable = { metadata: { name: "table", uid: "" } } as const;

export class RouteReporter {
  readonly #options: RouteReporterOptions;
  /** Shared by all tables. */
  readonly #nodeProblems: NodeProblems;
  readonly #reports = new ReportsByName<Topic>();
  readonly #reporter: Reporter<typeof wholeTable, Topic>;
  /** The last failure of each change that is still needed, or what it waits for. */
  readonly #unfinished = new Map<string, { readonly change: RouteChange; readonly finding: Finding }>();
  /** Routes that are missing, and are created once that is proved. */
  #unproved: readonly NodeFinding[] = [];
  #unlisted: Finding | undefined;

  constructor(options: RouteReporterOptions, nodeProblems: NodeProblems) {
    this.#options = options;
    this.#nodeProblems = nodeProblems;
    const { reportHold, reportProblem } = options;
    this.#reporter = new Reporter(
      (_, event, topic) => (topic === "hold" ? reportHold : reportProblem)(event),
      this.#reports,
    );
  }

  /** What concerns the whole table. */
  get findings(): readonly Finding[] {
    const lasting = [...this.#reports.get(wholeTable.metadata.name)].flatMap(([topic, reported]) =>
      findingsIn(reported, () => (topic === "hold" ? "hold" : "problem")),
    );
    const removals = [...this.#unfinished.values()].filter(({ change }) => change.do === "remove");
    return [...lasting, ...removals.map(({ finding }) => finding)];
  }

  /** Another replica may have led since. */
  begin(): void {
    this.#unfinished.clear();
    this.#unproved = [];
    this.#unlisted = undefined;
  }

  problems(
    desired: DesiredRoutes,
    listing: RouteListing,
    plan: RoutePlan,
    unchecked: OpenChanges["unchecked"],
    { held, unlisted, blocked }: Pick<LimitedChanges, "held" | "unlisted" | "blocked">,
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
    const rangesOf = (changes: LimitedChanges["held"]): ReadonlySet<Cidr> =>
      new Set(changes.flatMap(({ absent, destination }) => (absent === "route" ? destination : [])));
    const missing = rangesOf(held);
    const unproved = rangesOf(blocked).difference(missing);
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
    this.#unproved = desired.routes.flatMap(({ destination, target: { node } }) =>
      unproved.has(destination) && !created.has(destination)
        ? { node, finding: routeUnproved(destination, routes.proofsApart(settings.confirmAfter), table) }
        : [],
    );
    this.#unlisted = undefined;
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
    this.#keepUnfinished(results);
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
    if (change.do === "remove") {
      const problem = removeFailed(change.route, error, table);
      this.#unfinished.set(keyOf(change), { change, finding: problemFinding(problem) });
      reportProblem(problemEvent(problem));
      return;
    }
    const event = createFailed(change.route, took, error, table);
    const { reason, message: text } = event;
    const finding = defined({ kind: "problem" as const, reason, cause: describeError(error)?.reason, text });
    this.#unfinished.set(keyOf(change), { change, finding });
    this.#updateNodes();
    this.#nodeProblems.send(change.route.target.node, event);
  }

  failedListing(error: unknown): void {
    const problem = listFailed(error, this.#options.table);
    this.#unlisted = defined({ ...problemFinding(problem), cause: describeError(error)?.reason });
    this.#updateNodes();
    this.#report("listing", [problem]);
  }

  #keepUnfinished(results: readonly ChangeResult[]): void {
    const open = results.filter(({ outcome: { kind } }) => kind !== "done" && kind !== "observed");
    const keys = new Set(open.map(({ change }) => keyOf(change)));
    for (const key of this.#unfinished.keys()) if (!keys.has(key)) this.#unfinished.delete(key);
    const isBusy = this.#options.routes.oneAtATime && open.some(({ outcome }) => outcome.kind === "pending");
    for (const { change, outcome } of open) {
      const key = keyOf(change);
      const isAccepted = outcome.kind === "pending";
      const isNext = isBusy && outcome.kind === "waiting" && !this.#unfinished.has(key);
      if (change.do === "remove" || !(isAccepted || isNext)) continue;
      const finding = routeUnfinished(change.route.destination, isAccepted, this.#options.table);
      this.#unfinished.set(key, { change, finding });
    }
    this.#updateNodes();
  }

  #updateNodes(): void {
    const creations = [...this.#unfinished.values()].flatMap(({ change, finding }): readonly NodeFinding[] =>
      change.do === "create" ? [{ node: change.route.target.node, finding }] : [],
    );
    const byNode = new Map<string, readonly Finding[]>(
      [...Map.groupBy([...creations, ...this.#unproved], ({ node }) => node)].map(([node, failed]) => [
        node,
        failed.map(({ finding }) => finding),
      ]),
    );
    this.#nodeProblems.failing(this.#options.table, { listing: this.#unlisted, byNode });
  }

  failedSync(error: unknown): void {
    this.#report("sync", [syncFailed(error, this.#options.table)]);
  }

  #report(topic: Topic, problems: readonly Problem[]): void {
    this.#reporter.report(wholeTable, topic, problems.map(problemEvent));
  }
}

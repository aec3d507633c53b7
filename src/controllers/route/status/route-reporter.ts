// Reports problems of route tables and their routes: as an event on the Node concerned, or as a warning in the log. A lasting
// problem is reported once, even if several tables share it.

import type { Cidr, Milliseconds } from "../../../core/brand.ts";
import { defined } from "../../../core/defined.ts";
import type { Problem } from "../../../core/problem.ts";
import { shortList } from "../../../core/text.ts";
import type { Node } from "../../../kube/objects.ts";
import { Reporter } from "../../kernel/board.ts";
import { hadRoutes, podCIDRsOf } from "../../node-facts.ts";
import type { Guarded } from "../allow/route-guard.ts";
import type { OpenChanges } from "../apply/open-changes.ts";
import { type ChangeResult, changeKeyOf, type RouteChange } from "../apply/open-changes.ts";
import type { RouteControllerOptions, TableOptions } from "../deps.ts";
import { isLeftAlone, targetOf } from "../desired/plan-desired.ts";
import type { NodeTopic, ProblemsByNode, RouteHistory, TableTopic } from "../history.ts";
import { concernedTables, inTable, type TableName } from "../tables.ts";
import {
  changeUnknown,
  createFailed,
  listFailed,
  massRouteChangeHeld,
  massRouteRecreationHeld,
  removeFailed,
  routeCreatedButNotListed,
  routeUnfinished,
  routeUnproved,
  syncFailed,
  tableNearLimit,
} from "../texts.ts";

/** Reports problems of single Nodes, once for all tables. */
export class NodeProblems {
  readonly #options: Pick<RouteControllerOptions, "nodes" | "report">;
  readonly #history: Pick<RouteHistory, "nodeBoard" | "nodeProblems">;
  readonly #reporter: Reporter<Node, NodeTopic>;

  constructor(
    options: Pick<RouteControllerOptions, "nodes" | "report">,
    history: Pick<RouteHistory, "nodeBoard" | "nodeProblems">,
  ) {
    this.#options = options;
    this.#history = history;
    this.#reporter = new Reporter(options.report, history.nodeBoard);
  }

  /** Reports that the Node's instance is not visible; without a problem, the instance is visible or not being looked up. */
  reportInstance(node: Node, problem?: Problem): void {
    this.#reporter.report(node, "instance", problem === undefined ? [] : [problem]);
  }

  /** Replaces the problems that this table has with each Node. Findings of other tables last until those are synced. */
  report(table: TableName, byNode: ProblemsByNode): void {
    const { nodeProblems, nodeBoard } = this.#history;
    nodeProblems.set(table, byNode);
    const nodes = this.#options.nodes.list();
    nodeBoard.forgetAllBut(new Set(nodes.map(({ metadata }) => metadata.name)));
    for (const node of nodes) {
      const problems = [...nodeProblems.values()].flatMap((ofTable) => ofTable.get(node.metadata.name) ?? []);
      this.#reporter.report(node, "routes", problems);
    }
  }
}

/** A problem of a Node, with the Node's name. */
export type NodeProblem = readonly [node: string, problem: Problem];

export class RouteReporter {
  readonly #options: TableOptions;
  readonly #nodeProblems: NodeProblems;
  /** Findings about the table concern no Kubernetes object, so they are only logged. */
  readonly #reporter: Reporter<undefined, TableTopic>;
  #problems: ProblemsByNode = new Map();
  /** The last failure of each change that is still needed, or the event for which it waits. */
  #unfinished = new Map<string, { readonly change: RouteChange; readonly problem: Problem }>();
  /** Missing routes that are created once their absence is proved. */
  #unproved: readonly NodeProblem[] = [];
  /** The failure of the last listing. */
  #unlisted: Problem | undefined;

  constructor(options: TableOptions, nodeProblems: NodeProblems) {
    this.#options = options;
    this.#nodeProblems = nodeProblems;
    const { reportHold, reportProblem, history } = options;
    this.#reporter = new Reporter(
      (_, problem, topic) => (topic === "hold" ? reportHold : reportProblem)(problem),
      { put: (_, topic, problems) => history.board.put(topic, problems) },
    );
  }

  /** Findings about the whole table. */
  get problems(): readonly Problem[] {
    const removals = [...this.#unfinished.values()].filter(({ change }) => change.do === "remove");
    return [...this.#options.history.board.all, ...removals.map(({ problem }) => problem)];
  }

  /** Problems of single Nodes. While the table cannot be listed, that is a problem of every Node without a route. */
  get nodeProblems(): readonly NodeProblem[] {
    const unlisted = this.#unlisted;
    return [
      ...[...this.#problems].flatMap(([node, problems]) =>
        problems.map((problem) => [node, problem] as const),
      ),
      ...[...this.#unfinished.values()].flatMap(({ change, problem }): readonly NodeProblem[] =>
        change.do === "create" ? [[change.route.target.node, problem]] : [],
      ),
      ...this.#unproved,
      ...(unlisted === undefined ? [] : this.#nodesWithoutRoutes().map((node) => [node, unlisted] as const)),
    ];
  }

  /** Nodes that may need routes in this table, and whose condition does not show that they have them. */
  #nodesWithoutRoutes(): readonly string[] {
    const { nodes, isSelected, inventory, tables, table } = this.#options;
    const lacksRoutes = (node: Node): boolean =>
      !isLeftAlone(node, isSelected) && podCIDRsOf(node).length > 0 && !hadRoutes(node);
    return nodes.list().flatMap((node) => {
      if (!lacksRoutes(node)) return [];
      const concerned = concernedTables(tables, [targetOf(inventory, node)]);
      return concerned.some(({ name }) => name === table) ? node.metadata.name : [];
    });
  }

  /** Reports the result of a survey, and a hold once while it lasts. */
  surveyed(guarded: Guarded, unchecked: OpenChanges["unchecked"]): void {
    const { routes, table, settings, removals } = this.#options;
    const { desired, listing, plan } = guarded.survey;
    const count = listing.routes.length + plan.create.length - plan.remove.length;
    const ofTable = [...listing.problems, ...desired.problems, ...tableNearLimit(count, routes.limit, table)];
    const byNode = new Map([...desired.nodeProblems].map(([name, problems]) => [name, [...problems]]));
    const addToNode = (name: string, problem: Problem): void => {
      byNode.set(name, [...(byNode.get(name) ?? []), problem]);
    };
    for (const { route, problem } of plan.refused) addToNode(route.target.node, problem);
    const confirmAfter = routes.proofsApart(settings.confirmAfter);
    const howToRelease = removals.howToRelease("routes");
    const unproved: NodeProblem[] = [];
    const missing = new Map(
      guarded.judged.flatMap((one) => (one.absent === "route" ? [[one.destination, one]] : [])),
    );
    for (const { destination, target } of desired.routes) {
      const { verdict, unlisted = 0 } = missing.get(destination) ?? {};
      if (verdict === undefined) continue;
      const range = this.#named(destination);
      if (verdict === "held") addToNode(target.node, massRouteRecreationHeld(range, howToRelease));
      if (verdict === "unlisted") addToNode(target.node, routeCreatedButNotListed(range, unlisted));
      if (verdict === "unproved") unproved.push([target.node, routeUnproved(range, confirmAfter)]);
    }
    for (const { change, error } of unchecked) {
      const problem = changeUnknown(change.do, this.#named(change.route.destination), error);
      if (change.do === "remove") ofTable.push(problem);
      else addToNode(change.route.target.node, problem);
    }
    this.#problems = byNode;
    this.#unproved = unproved;
    this.#unlisted = undefined;
    this.#report("listing", []);
    this.#report("table", ofTable);
    this.#nodeProblems.report(table, byNode);
    this.#reportHold(guarded);
  }

  #reportHold({ judged, held: doubt }: Guarded): void {
    const { note, table, history } = this.#options;
    const held = judged.filter(({ verdict }) => verdict === "held");
    if (held.length === 0 && history.board.of("hold").length > 0)
      note("--removal-limit no longer holds route changes", defined({ table }));
    const isHeld = doubt !== undefined && held.length > 0;
    this.#reporter.report(undefined, "hold", isHeld ? [massRouteChangeHeld(held, doubt, table)] : []);
  }

  /** Logs the changes that the cloud accepted in one sync on a single line. */
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

  /** Reports every failure, as in upstream. The backoffs limit the number of reports. */
  failure(change: RouteChange, error: unknown, took: Milliseconds): void {
    const { table, nodes, report, reportProblem } = this.#options;
    if (change.do === "remove") {
      const problem = removeFailed(change.route, error, table);
      this.#unfinished.set(changeKeyOf(change), { change, problem });
      reportProblem(problem);
      return;
    }
    const problem = createFailed(change.route, took, error, table);
    this.#unfinished.set(changeKeyOf(change), { change, problem });
    const node = nodes.get(change.route.target.node);
    if (node !== undefined) report(node, problem);
  }

  failedListing(error: unknown): void {
    const problem = listFailed(error, this.#options.table);
    this.#unlisted = problem;
    this.#report("listing", [problem]);
  }

  failedSync(error: unknown): void {
    this.#report("sync", [syncFailed(error, this.#options.table)]);
  }

  /**
   * Keeps the failures of changes that are still needed. A creation in progress is not a failure, because its Node waits for it.
   */
  #keepUnfinished(results: readonly ChangeResult[]): void {
    const isBusy =
      this.#options.routes.oneAtATime && results.some(({ outcome }) => outcome.kind === "pending");
    const failed = this.#unfinished;
    this.#unfinished = new Map();
    for (const { change, outcome } of results) {
      if (outcome.kind === "done" || outcome.kind === "observed") continue;
      const key = changeKeyOf(change);
      const known = failed.get(key);
      const isAccepted = outcome.kind === "pending";
      const isNext = isBusy && outcome.kind === "waiting" && known === undefined;
      if (change.do === "create" && (isAccepted || isNext)) {
        const problem = routeUnfinished(this.#named(change.route.destination), isAccepted);
        this.#unfinished.set(key, { change, problem });
      } else if (known !== undefined) this.#unfinished.set(key, known);
    }
  }

  #named(range: Cidr): string {
    return `${range}${inTable(this.#options.table)}`;
  }

  #report(topic: TableTopic, problems: readonly Problem[]): void {
    this.#reporter.report(undefined, topic, problems);
  }
}

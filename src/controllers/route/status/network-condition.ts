// The NetworkUnavailable condition of every Node, with upstream's reasons and messages, verbatim: decided after each sync of a
// table, combined for all tables, and written Node by Node, so that a failed write does not delay other Nodes. A condition stays
// unchanged while too little is known about the Node's routes.

import { errorPolicies } from "../../../cloud/error-policies.ts";
import type { Cidr } from "../../../core/brand.ts";
import { undefinedIf } from "../../../kube/errors/kube-error.ts";
import { toTime } from "../../../kube/objects.ts";
import { nodeConditionsPatch } from "../../../kube/patches/node-patch.ts";
import { CloudError } from "../../../provider/errors.ts";
import type { DesiredRoute } from "../../../provider/routes.ts";
import { type Outcome, settled } from "../../../runtime/workers.ts";
import { networkConditionOf } from "../../node-facts.ts";
import { isPaused } from "../../pause.ts";
import { networkCondition } from "../../well-known.ts";
import type { ChangeOutcome, ChangeResult } from "../apply/open-changes.ts";
import type { RouteControllerOptions } from "../deps.ts";
import type { DesiredRoutes } from "../desired/plan-desired.ts";
import type { Survey } from "../plan/plan.ts";
import type { TableName } from "../tables.ts";

type TablesOfNode = DesiredRoutes["tablesOfNode"];

/** Writes the conditions for all tables. */
export class ConditionWriter {
  readonly #options: RouteControllerOptions;
  /** Called with every Node whose condition must be written. */
  readonly #enqueue: (name: string) => void;
  /** Whether each Node has its routes in a table, by table and uid. Nodes that are not decided yet are omitted. */
  readonly #byTable = new Map<TableName, ReadonlyMap<string, boolean>>();
  /** The tables in which each Node needs routes, by uid. */
  #tablesOfNode: TablesOfNode = new Map();

  constructor(options: RouteControllerOptions, enqueue: (name: string) => void) {
    this.#options = options;
    this.#enqueue = enqueue;
  }

  /** Replaces the decisions of a table, by uid. The conditions of undecided Nodes stay unchanged. */
  update(table: TableName, decisions: ReadonlyMap<string, boolean>, tablesOfNode: TablesOfNode): void {
    this.#byTable.set(table, decisions);
    this.#tablesOfNode = tablesOfNode;
    for (const { metadata } of this.#options.nodes.list()) {
      if (this.#plan(metadata.name) !== undefined) this.#enqueue(metadata.name);
    }
  }

  async write(name: string, signal: AbortSignal): Promise<Outcome> {
    const { writes, isSelected } = this.#options;
    const plan = this.#plan(name);
    if (plan === undefined || isPaused(plan.node) || !isSelected(plan.node)) return settled;
    // The Node may be gone, or another Node may use its name. If a Node exists, its change causes the next sync.
    await writes
      .patch(plan.node, nodeConditionsPatch(plan.node, [plan.condition]), plan.why, signal)
      .catch(undefinedIf("precondition", "not-found"));
    return settled;
  }

  /** True only if every table that serves the Node has its routes; undefined while one of the tables is undecided. */
  #hasRoutes(uid: string): boolean | undefined {
    const tables = [...(this.#tablesOfNode.get(uid) ?? [])];
    return tables.length === 0 ? undefined : allOf(tables.map((table) => this.#byTable.get(table)?.get(uid)));
  }

  /** Undefined while too little is known, and when the Node already has this status and reason. */
  #plan(name: string) {
    const { nodes, clock } = this.#options;
    const node = nodes.get(name);
    const hasRoutes = node && this.#hasRoutes(node.metadata.uid);
    if (node === undefined || hasRoutes === undefined) return undefined;
    const desired = hasRoutes
      ? { status: "False", reason: "RouteCreated", message: "RouteController created a route" }
      : { status: "True", reason: "NoRouteCreated", message: "RouteController failed to create a route" };
    const present = networkConditionOf(node);
    if (present?.status === desired.status && present.reason === desired.reason) return undefined;
    const time = toTime(clock.now());
    const condition = {
      type: networkCondition,
      ...desired,
      lastTransitionTime: time,
      lastHeartbeatTime: time,
    };
    return {
      node,
      condition,
      why: hasRoutes ? "all routes of the Node exist" : "a route of the Node is missing",
    };
  }
}

/** The first failures are not reported if the next attempt usually succeeds. */
export function isTransient(error: unknown, failures: number): boolean {
  return CloudError.is(error) && errorPolicies[error.kind].audience === "none" && failures < 3;
}

/**
 * Whether each Node has its routes. The key is the uid, because another Node may reuse the name. Undecided Nodes are omitted. A Node with a
 * pod range that gets no route never has all its routes.
 */
export function decideNetworkConditions(
  { desired, plan }: Survey,
  results: readonly ChangeResult[],
  failuresOf: (route: DesiredRoute) => number,
): ReadonlyMap<string, boolean> {
  const outcomes = new Map<Cidr, ChangeOutcome>();
  for (const { change, outcome } of results) {
    if (change.do === "create") outcomes.set(change.route.destination, outcome);
  }
  const answers: readonly (readonly [DesiredRoute, boolean | undefined])[] = [
    ...plan.present.map((route) => [route, true] as const),
    ...plan.undecided.map((route) => [route, undefined] as const),
    ...plan.refused.map(({ route }) => [route, false] as const),
    ...plan.create.map(
      (route) => [route, isPresent(outcomes.get(route.destination), failuresOf(route))] as const,
    ),
  ];
  const decisions = new Map<string, boolean>();
  for (const [uid, ofNode] of Map.groupBy(answers, ([{ target }]) => target.uid)) {
    const isIncomplete = ofNode.some(([{ target }]) => desired.nodeProblems.has(target.node));
    const hasAll = allOf([...ofNode.map(([, isThere]) => isThere), isIncomplete ? undefined : true]);
    if (hasAll !== undefined) decisions.set(uid, hasAll);
  }
  return decisions;
}

/** False if any answer is false; otherwise undefined if any answer is undefined. */
function allOf(answers: readonly (boolean | undefined)[]): boolean | undefined {
  if (answers.includes(false)) return false;
  return answers.includes(undefined) ? undefined : true;
}

/** Whether a planned route is in the table now; undefined if unknown. */
function isPresent(outcome: ChangeOutcome | undefined, failures: number): boolean | undefined {
  if (outcome?.kind === "done" || outcome?.kind === "observed") return true;
  if (outcome?.kind === "failed") return isTransient(outcome.error, failures) ? undefined : false;
  return outcome?.kind === "held" ? false : undefined;
}

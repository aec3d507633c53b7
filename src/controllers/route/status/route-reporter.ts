// What is said about routes and to whom: on the Node it is about, or to whoever runs the manager. What stays true is said
// once; it decides nothing.

import type { Problem } from "../../../core/problem.ts";
import { shortList } from "../../../core/text.ts";
import type { NodeEvent } from "../../node-deps.ts";
import { ReportDeduplicator } from "../../report-deduplicator.ts";
import type { RouteControllerOptions } from "../deps.ts";
import type { Wanted } from "../desired/plan-desired.ts";
import type { RouteListing } from "../observed/route-table.ts";
import type { RoutePlan } from "../reconcile/plan.ts";
import type { ChangeResult, RouteChange } from "../reconcile/route-change.ts";
import {
  describeFailedCreate,
  describeFailedListing,
  describeFailedPass,
  describeFailedRemoval,
  describeUnknown,
} from "./describe-failure.ts";
import { describeFill } from "./describe-fill.ts";

/** Changes of which nothing can be learnt, and why. */
export interface Unknown {
  readonly changes: readonly RouteChange[];
  readonly error: unknown;
}

type RouteReporterOptions = Pick<
  RouteControllerOptions,
  "nodes" | "routes" | "settings" | "report" | "reportProblem" | "note"
>;

/** No Node can have such a name. */
const subjects = { table: " table", listing: " listing", pass: " pass" } as const;

export class RouteReporter {
  readonly #options: RouteReporterOptions;
  readonly #reported = new ReportDeduplicator();

  constructor(options: RouteReporterOptions) {
    this.#options = options;
  }

  problems(wanted: Wanted, listing: RouteListing, plan: RoutePlan, unknown: Unknown): void {
    const { nodes, routes, settings } = this.#options;
    const fill = {
      routes: listing.routes.length + plan.create.length - plan.remove.length,
      ...(routes.limit !== undefined && { limit: routes.limit }),
    };
    const lost = unknown.changes.map((change) => ({
      change,
      problem: describeUnknown(change, unknown.error),
    }));
    this.#report(subjects.listing, []);
    this.#report(subjects.table, [
      ...listing.problems,
      ...wanted.problems,
      ...describeFill(fill, settings.warnAt),
      ...lost.flatMap(({ change, problem }) => (change.do === "remove" ? [problem] : [])),
    ]);
    const byNode = new Map([...wanted.nodeProblems].map(([name, problems]) => [name, [...problems]]));
    for (const { route, problem } of plan.refused) {
      const { node } = route.target;
      byNode.set(node, [...(byNode.get(node) ?? []), problem]);
    }
    const names = nodes.list().map(({ metadata }) => metadata.name);
    for (const { change, problem } of lost) {
      if (change.do === "remove") continue;
      const { node } = change.route.target;
      byNode.set(node, [...(byNode.get(node) ?? []), problem]);
    }
    this.#reported.forgetAllBut(new Set([...Object.values(subjects), ...names]));
    for (const name of names) {
      for (const { reason, text } of this.#reported.news(name, byNode.get(name) ?? [])) {
        this.#sendEvent(name, { type: "Warning", reason, message: text });
      }
    }
  }

  /** What the cloud took on in one pass, in one line however many there are. */
  changed(results: readonly ChangeResult[]): void {
    this.#report(subjects.pass, []);
    const taken = results.filter(({ outcome: { kind } }) => kind === "done" || kind === "pending");
    if (taken.length === 0) return;
    const created = taken.filter(({ change }) => change.do === "create").length;
    const underWay = taken.filter(({ outcome }) => outcome.kind === "pending").length;
    this.#options.note("Routes changed in the cloud", {
      created,
      removed: taken.length - created,
      ...(underWay > 0 && { underWay }),
      routes: shortList(
        taken.map(({ change }) =>
          change.do === "create"
            ? `+${change.route.destination} to ${change.route.target.node}`
            : `-${change.route.destination}`,
        ),
      ),
    });
  }

  /** Every time, as upstream does: rests keep it from being often. */
  failure({ change, outcome }: ChangeResult): void {
    if (outcome.kind !== "failed") return;
    const { error, took } = outcome;
    if (change.do === "remove") this.#options.reportProblem(describeFailedRemoval(change.route, error));
    else this.#sendEvent(change.route.target.node, describeFailedCreate(change.route, took, error));
  }

  failedListing(error: unknown): void {
    this.#report(subjects.listing, [describeFailedListing(error)]);
  }

  failedPass(error: unknown): void {
    this.#report(subjects.pass, [describeFailedPass(error)]);
  }

  #report(subject: string, problems: readonly Problem[]): void {
    for (const problem of this.#reported.news(subject, problems)) this.#options.reportProblem(problem);
  }

  #sendEvent(name: string, event: NodeEvent): void {
    const node = this.#options.nodes.get(name);
    if (node !== undefined) this.#options.report(node, event);
  }
}

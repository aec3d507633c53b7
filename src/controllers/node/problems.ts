// Remembers what keeps each Node from being initialized, with the number of failed attempts, and what was reported about it.

import type { Problem } from "../../core/problem.ts";
import type { Node } from "../../kube/objects.ts";
import type { Clock } from "../../platform/clock.ts";
import type { NodeEvent } from "../node-deps.ts";
import { type Finding, noticeReason } from "../report.ts";
import { ReportDeduplicator } from "../report-deduplicator.ts";

export interface NodeProblem {
  readonly problem: Problem;
  /** Failed attempts in a row, with any problem. */
  readonly count: number;
  /** When the Node got a problem with this reason, monotonic. */
  readonly since: number;
}

export class ProblemTracker {
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #byNode = new Map<string, NodeProblem>();
  readonly #reported = new ReportDeduplicator();
  readonly #failures = new ReportDeduplicator();
  readonly #notices = new ReportDeduplicator();
  readonly #uids = new Map<string, string>();

  constructor(clock: Pick<Clock, "monotonic">) {
    this.#clock = clock;
  }

  get all(): ReadonlyMap<string, NodeProblem> {
    return this.#byNode;
  }

  /** All Nodes with a record. */
  get names(): readonly string[] {
    return [...this.#uids.keys()];
  }

  /** The notices of each Node that is left alone or has a wrong annotation. */
  get notices(): ReadonlyMap<string, ReadonlySet<string>> {
    return this.#notices.all;
  }

  /** The problem of each Node, and its notices. */
  get findings(): ReadonlyMap<string, readonly Finding[]> {
    const found = new Map<string, readonly Finding[]>();
    for (const [name, { problem, count, since }] of this.#byNode) {
      const { reason, text } = problem;
      found.set(name, [{ kind: "problem", reason, text, attempts: count, since }]);
    }
    for (const [name, texts] of this.#notices.all) {
      const notices = [...texts].map((text) => ({ kind: "notice" as const, reason: noticeReason, text }));
      found.set(name, [...(found.get(name) ?? []), ...notices]);
    }
    return found;
  }

  /** A new Node with the name of another one begins without its records. */
  begin({ metadata: { name, uid } }: Node): void {
    if (this.#uids.get(name) === uid) return;
    this.forget(name);
    this.#uids.set(name, uid);
  }

  add(name: string, problem: Problem): NodeProblem {
    return this.#put(name, problem, (this.#byNode.get(name)?.count ?? 0) + 1);
  }

  /** Like `add`, but without a failed attempt. */
  note(name: string, problem: Problem): void {
    this.#put(name, problem, this.#byNode.get(name)?.count ?? 0);
  }

  #put(name: string, problem: Problem, count: number): NodeProblem {
    const before = this.#byNode.get(name);
    const isSame = before?.problem.reason === problem.reason;
    const nodeProblem = { problem, count, since: isSame ? before.since : this.#clock.monotonic() };
    this.#byNode.set(name, nodeProblem);
    return nodeProblem;
  }

  clear(name: string): void {
    this.#byNode.delete(name);
    this.#failures.forget(name);
  }

  forget(name: string): void {
    this.clear(name);
    this.#reported.forget(name);
    this.#notices.forget(name);
    this.#uids.delete(name);
  }

  /** The notices that were not reported about this Node the last time. */
  newNotices(name: string, notices: readonly NodeEvent[]): readonly NodeEvent[] {
    const texts = notices.map((notice) => ({ notice, text: notice.message }));
    return this.#notices.news(name, texts).map(({ notice }) => notice);
  }

  /** Whether the last attempt did not fail with this problem. An attempt that fails may have reported other problems first. */
  isNewFailure(name: string, problem: Problem): boolean {
    return this.#failures.news(name, [problem]).length > 0;
  }

  /** The problems that were not reported about this Node the last time. */
  news(name: string, problems: readonly Problem[]): readonly Problem[] {
    return this.#reported.news(name, problems);
  }
}

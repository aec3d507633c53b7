// Reports problems on Nodes: each as an event, once while it lasts, and after several failed attempts as the CloudReady condition, which
// a Node has only while something is wrong between it and the cloud.

import type { Problem } from "../../core/problem.ts";
import { type Condition, type Node, toTime } from "../../kube/objects.ts";
import { nodeConditionsPatch, nodeConditionsRemovalPatch } from "../../kube/patches/node-patch.ts";
import type { NodeDeps } from "../node-deps.ts";
import {
  type Finding,
  findingsIn,
  type ObjectEvent,
  problemEvent,
  Reporter,
  type ReportsByName,
} from "../reporter.ts";
import { cloudCondition } from "../well-known.ts";
import type { NodeSettings } from "./settings.ts";

type NodeReporterOptions = Pick<NodeDeps, "writes" | "clock" | "report"> & {
  readonly settings: NodeSettings;
};

/**
 * `differences`: what the instance has and the Node cannot get. It stays reported during failures, so that it is not repeated when
 * they end. `failure`: why the Node waits, or why the last attempt failed.
 */
const topics = ["failure", "differences", "notices"] as const;
export type NodeTopic = (typeof topics)[number];

export class NodeReporter {
  readonly #options: NodeReporterOptions;
  readonly #reports: ReportsByName<NodeTopic>;
  readonly #reporter: Reporter<Node, NodeTopic>;
  /** How many attempts in a row have failed in this session, by name. Valid while the topic `failure` is reported. */
  readonly #attempts = new Map<string, number>();

  constructor(options: NodeReporterOptions, reports: ReportsByName<NodeTopic>) {
    this.#options = options;
    this.#reports = reports;
    this.#reporter = new Reporter(options.report, reports);
  }

  /** The problems of each Node, and its notices. */
  get findings(): ReadonlyMap<string, readonly Finding[]> {
    return new Map(
      [...this.#reports.names].map((name) => {
        const reported = this.#reports.get(name);
        const inOrder = topics.flatMap((topic) => findingsIn(topic, reported.get(topic)));
        return [name, inOrder] as const;
      }),
    );
  }

  reportNotices(node: Node, notices: readonly ObjectEvent[]): void {
    this.#reporter.report(node, "notices", notices);
  }

  reportProblems(node: Node, problems: readonly Problem[]): void {
    const { events, since } = this.#reports.of(node).get("differences") ?? {};
    const before = new Set([...(events?.values() ?? [])].map(({ reason }) => reason));
    const isSame = problems.every(({ reason }) => before.has(reason));
    const now = this.#options.clock.monotonic();
    this.#reporter.report(node, "differences", problems.map(problemEvent), {
      since: (isSame ? since : undefined) ?? now,
    });
  }

  /** Reports why the Node waits. Unlike a failure, waiting does not lead to the condition. */
  reportWait(node: Node, problem: Problem): void {
    this.#reportFailure(node, problemEvent(problem), 0);
  }

  /** Returns how many attempts in a row have failed. `quiet`: one log line for all Nodes is written elsewhere. */
  reportFailure(node: Node, problem: Problem, quiet?: true): number {
    const event = problemEvent(problem);
    return this.#reportFailure(node, quiet === true ? { ...event, quiet } : event, 1);
  }

  #reportFailure(node: Node, event: ObjectEvent, added: number): number {
    const { name } = node.metadata;
    const before = this.#reports.of(node).get("failure");
    const isSame = before?.events.values().next().value?.reason === event.reason;
    const attempts = this.#attemptsOf(node) + added;
    this.#attempts.set(name, attempts);
    const since = (isSame ? before?.since : undefined) ?? this.#options.clock.monotonic();
    this.#reporter.report(node, "failure", [event], { attempts, since });
    return attempts;
  }

  /** None for a new Node with the name of another one. */
  #attemptsOf(node: Node): number {
    const isFailing = this.#reports.of(node).has("failure");
    return isFailing ? (this.#attempts.get(node.metadata.name) ?? 0) : 0;
  }

  /** The last attempt did not fail, or the Node is left alone. */
  endFailure(name: string): void {
    this.#attempts.delete(name);
    this.#reports.forget(name, "failure");
  }

  forget(name: string): void {
    this.#attempts.delete(name);
    this.#reports.forget(name);
  }

  /** Writes the condition if the Node's problem lasts long enough. */
  async writeCondition(node: Node, signal: AbortSignal): Promise<void> {
    const { writes, clock, settings } = this.#options;
    const [problem] = this.#reports.of(node).get("failure")?.events.values() ?? [];
    if (problem === undefined || this.#attemptsOf(node) < settings.failuresBeforeCondition) return;
    const present = cloudConditionOf(node);
    const condition = toCloudCondition(problem, clock.now());
    if (present?.reason === condition.reason && present?.message === condition.message) return;
    const why = `the Node is not initialized (${problem.reason}): ${problem.message}`;
    await writes.patch(node, nodeConditionsPatch(node, [condition]), why, signal);
  }

  async endProblem(node: Node, signal: AbortSignal): Promise<void> {
    this.endFailure(node.metadata.name);
    if (cloudConditionOf(node) === undefined) return;
    const removal = nodeConditionsRemovalPatch(node, [cloudCondition]);
    await this.#options.writes.patch(node, removal, "the problem is fixed", signal);
  }
}

/** The watch cache truncates longer messages, so they could not be compared with the Node's. */
const maxMessageLength = 256;

/**
 * Contains neither a retry time nor a counter, because every change would cause a write. The heartbeat is the time of this
 * write: without one, kubectl shows the year 1.
 */
function toCloudCondition(
  { reason, message }: Pick<ObjectEvent, "reason" | "message">,
  now: number,
): Condition & { readonly lastHeartbeatTime: string } {
  const time = toTime(now);
  return {
    type: cloudCondition,
    status: "False",
    reason,
    message: message.length > maxMessageLength ? `${message.slice(0, maxMessageLength - 1)}…` : message,
    lastTransitionTime: time,
    lastHeartbeatTime: time,
  };
}

export function cloudConditionOf(node: Node): Condition | undefined {
  return node.status.conditions?.find(({ type }) => type === cloudCondition);
}

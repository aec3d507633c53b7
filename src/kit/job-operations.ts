// Steps that start a job of the cloud, and the checks of these jobs. The cloud does not store the purpose of a job, so the operation id
// contains it: the text to wait for, and the Nodes of its members.

import type { Call } from "../provider/call.ts";
import { CloudError } from "../provider/errors.ts";
import type { FactChanges, OperationState, Pending, RefusedTarget } from "../provider/plan.ts";
import { done, inProgress } from "./outcomes.ts";

/** A cloud job and its purpose. */
export interface JobOperation {
  /** The cloud's id of the job, which may be any text. With several regions, put the region before the id. */
  readonly job: string;
  /** Completes "waiting for …". */
  readonly waitingFor: string;
  /**
   * The Nodes of the members by the cloud's name for each member, such as an address. The `node` of a target that the job rejects
   * may be such a name.
   */
  readonly members?: Readonly<Record<string, string>> | undefined;
}

/**
 * The state of a job: still running, done with the facts to store on the Service and the rejected targets, or the error with
 * which it failed.
 */
export type JobState =
  | "running"
  | {
      readonly facts: FactChanges;
      readonly refused?: readonly RefusedTarget[] | undefined;
      /** See `Done.isGone`. */
      readonly isGone?: true | undefined;
    }
  | CloudError;

/** The outcome of a step that has started a job: in progress until `pendingJobs` reports its end. `remember` is stored immediately. */
export function jobStarted(
  { job, waitingFor, members = {} }: JobOperation,
  remember?: FactChanges,
): ReturnType<typeof inProgress> {
  const operation = JSON.stringify([job, waitingFor, members]);
  return inProgress(waitingFor, { operation, remember });
}

/** Undefined for an id that `jobStarted` did not create. */
function parseOperation(id: string): JobOperation | undefined {
  try {
    const parsed: unknown = JSON.parse(id);
    if (!Array.isArray(parsed) || parsed.length !== 3) return undefined;
    const [job, waitingFor, members] = parsed as [string, string, Readonly<Record<string, string>>];
    return { job, waitingFor, members };
  } catch {
    return undefined;
  }
}

/**
 * Implements `Cloud.pending` for jobs that `jobStarted` reported. `check` returns the state of each job that the cloud still
 * knows. If it throws, all jobs are checked again later. If only one of several regions fails, return "running" for its jobs: a
 * job without a state counts as lost, and a CloudError as failed.
 *
 * @example
 * pending: pendingJobs({ limit: 50 }, async (jobs, call) => {
 *   const { tasks } = await api.call<Tasks>({ operation: "ListTasks", method: "GET", path: "/tasks", query: { ids: jobs } }, call);
 *   return new Map(tasks.map(({ id, result }) => [id, result === null ? "running" : { facts: { id: result } }]));
 * })
 */
export function pendingJobs(
  /** The maximum number of operations per check. */
  { limit }: Pick<Pending, "limit">,
  check: (jobs: readonly string[], call: Call) => Promise<ReadonlyMap<string, JobState>>,
): Pending {
  const stateOf = (
    { waitingFor, members = {} }: JobOperation,
    state: JobState,
  ): OperationState | CloudError => {
    if (state === "running") return inProgress(waitingFor);
    if (CloudError.is(state)) return state;
    const refused = state.refused?.map((target) => ({
      ...target,
      node: Object.hasOwn(members, target.node) ? (members[target.node] ?? target.node) : target.node,
    }));
    const outcome = done(state.facts, refused);
    return state.isGone === true ? { ...outcome, isGone: true } : outcome;
  };
  return {
    limit,
    check: async (operations, call) => {
      const known = new Map(
        operations.flatMap((id) => {
          const operation = parseOperation(id);
          return operation === undefined ? [] : [[id, operation] as const];
        }),
      );
      // Several operations may wait for one job.
      const jobs = [...new Set([...known.values()].map(({ job }) => job))];
      const states: ReadonlyMap<string, JobState> = jobs.length === 0 ? new Map() : await check(jobs, call);
      return new Map(
        [...known].flatMap(([id, operation]) => {
          const state = states.get(operation.job);
          return state === undefined ? [] : [[id, stateOf(operation, state)] as const];
        }),
      );
    },
  };
}

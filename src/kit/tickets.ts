// Operation ids that contain what is needed when the operation ends, for clouds whose jobs do not know it: the Services whose
// facts the result belongs to, and what to wait for.

import { type Milliseconds, type ServiceUID, seconds } from "../core/brand.ts";
import type { Call } from "../provider/call.ts";
import { CloudError } from "../provider/errors.ts";
import type { FactChanges, OperationState, Pending } from "../provider/plan.ts";

/** A job of the cloud, with what it is for. */
export interface Ticket {
  /** The cloud's id of the job. */
  readonly job: string;
  /** The Services that get the facts of the result. */
  readonly owners: readonly ServiceUID[];
  /** Completes "waiting for …". */
  readonly waitingFor: string;
}

/** The state of a job: still running, done with the facts to store on the owners, or the error with which it failed. */
export type JobState =
  | "running"
  | { readonly facts: Readonly<Record<string, string | undefined>> }
  | CloudError;

/** The operation id of a ticket, for `StepOutcome.operation`. */
export function operationOf({ job, owners, waitingFor }: Ticket): string {
  return JSON.stringify([job, waitingFor, ...owners]);
}

/** The same facts for each of these Services. */
export function factsOf(
  owners: readonly ServiceUID[],
  facts: Readonly<Record<string, string | undefined>>,
): FactChanges {
  return new Map(owners.map((owner) => [owner, facts]));
}

/** Undefined for an id that `operationOf` did not make. */
function ticketOf(operation: string): Ticket | undefined {
  try {
    const parsed: unknown = JSON.parse(operation);
    if (!Array.isArray(parsed) || parsed.length < 2) return undefined;
    const [job, waitingFor, ...owners] = parsed as [string, string, ...ServiceUID[]];
    return { job, waitingFor, owners };
  } catch {
    return undefined;
  }
}

/**
 * `Cloud.pending` for operations made with `operationOf`. `check` returns the state of each job that the cloud still knows.
 *
 * @example
 * pending: pendingTickets({ limit: 50 }, async (jobs, call) => {
 *   const { tasks } = await api.call<Tasks>({ operation: "ListTasks", method: "GET", path: "/tasks", query: { ids: jobs } }, call);
 *   return new Map(tasks.map(({ id, result }) => [id, result === null ? "running" : { facts: { id: result } }]));
 * })
 */
export function pendingTickets(
  { limit, checkAfter = seconds(1) }: { readonly limit: number; readonly checkAfter?: Milliseconds },
  check: (jobs: readonly string[], call: Call) => Promise<ReadonlyMap<string, JobState>>,
): Pending {
  const stateOf = ({ owners, waitingFor }: Ticket, state: JobState): OperationState | CloudError => {
    if (state === "running") return { done: false, checkAfter, waitingFor };
    return CloudError.is(state) ? state : { done: true, remember: factsOf(owners, state.facts) };
  };
  return {
    limit,
    check: async (operations, call) => {
      const tickets = new Map(
        operations.flatMap((operation) => {
          const ticket = ticketOf(operation);
          return ticket === undefined ? [] : [[operation, ticket] as const];
        }),
      );
      // Several operations may wait for one job.
      const jobs = [...new Set([...tickets.values()].map(({ job }) => job))];
      const states: ReadonlyMap<string, JobState> = jobs.length === 0 ? new Map() : await check(jobs, call);
      return new Map(
        [...tickets].flatMap(([operation, ticket]) => {
          const state = states.get(ticket.job);
          return state === undefined ? [] : [[operation, stateOf(ticket, state)] as const];
        }),
      );
    },
  };
}

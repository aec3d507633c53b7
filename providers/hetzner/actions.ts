// Actions: every change starts one, and is done when its action has succeeded. They are checked in batches.

import {
  type Call,
  CloudError,
  type Done,
  done,
  inProgress,
  type JobState,
  operationOf,
  pendingJobs,
} from "#ccm";
import type { HetznerApi } from "./api/client.ts";
import { kindOfCode } from "./api/errors.ts";
import type { ApiAction } from "./api/resources.ts";

const operation = "GET /actions";

function failureOf({ id, command, error }: ApiAction): CloudError {
  const { code = "unknown", message = "no message" } = error ?? {};
  const text = `The action ${command} (${id}) failed: ${message} [${code}]`;
  return new CloudError(kindOfCode(code) ?? "conflict", text, { operation });
}

/** Stands for the Node in the operation of a step that adds a target. */
const target = "target";

/** What a change leads to, by its response. `title` completes "waiting for …", and `node` is the Node of a target that is added. */
export function outcomeOf(action: ApiAction | null | undefined, title: string, node?: string): ActionOutcome {
  if (action === undefined || action === null || action.status === "success") return done();
  if (action.status === "error") throw failureOf(action);
  const members = node === undefined ? {} : { [target]: node };
  const job = { job: String(action.id), owners: [], waitingFor: title, members };
  return inProgress(title, { operation: operationOf(job) });
}

/** One target that fails must not hold up the others. */
function stateOf(action: ApiAction): JobState {
  if (action.status === "running") return "running";
  if (action.status === "success") return { facts: {} };
  const failure = failureOf(action);
  if (action.command !== "add_target") return failure;
  return { facts: {}, refused: [{ node: target, text: failure.message }] };
}

/** `GET /actions` takes as many ids as a page has entries. */
export function pendingActions(api: HetznerApi) {
  return pendingJobs({ limit: 50 }, async (ids: readonly string[], call: Call) => {
    const states = new Map<string, JobState>();
    for await (const page of api.actions(ids, call)) {
      for (const action of page) states.set(String(action.id), stateOf(action));
    }
    return states;
  });
}

export type ActionOutcome = Done | ReturnType<typeof inProgress>;

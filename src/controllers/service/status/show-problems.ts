// Reports problems on a Service: each once as an event, and errors also as a condition.

import type { Problem } from "../../../core/problem.ts";
import type { Service, ServiceCondition } from "../../../kube/objects.ts";
import { serviceStatusPatch } from "../../../kube/patches/service-patch.ts";
import type { ServiceControllerDeps } from "../deps.ts";
import type { EventTopic } from "../state/service-record.ts";
import { conditionsFor } from "./conditions.ts";
import { problemFound } from "./events.ts";
import type { EventPublisher } from "./publisher.ts";

export interface ShowProblemsDeps {
  readonly controller: Pick<ServiceControllerDeps, "writes" | "clock">;
  readonly publisher: EventPublisher;
}

export async function showProblems(
  deps: ShowProblemsDeps,
  topic: Extract<EventTopic, "annotations" | "absence" | "adoption" | "duplicates" | "plan">,
  service: Service,
  problems: readonly Problem[],
  signal: AbortSignal,
  /** Found by earlier stages: the condition includes them. */
  earlier: readonly Problem[] = [],
): Promise<void> {
  deps.publisher.publishOnce(service, topic, problems.map(problemFound));
  await writeErrorCondition(deps, service, [...earlier, ...problems], signal);
}

/** Writes only errors. Conditions are removed at the end of the reconcile, since a later stage may find the same problem. */
export async function writeErrorCondition(
  { controller: { writes, clock } }: Pick<ShowProblemsDeps, "controller">,
  service: Service,
  problems: readonly Problem[],
  signal: AbortSignal,
): Promise<void> {
  if (!problems.some(({ severity }) => severity === "error")) return;
  const { isChanged, isWorthAWrite, conditions } = conditionsFor(service, problems, clock.now());
  if (!isChanged || !isWorthAWrite) return;
  const patch = serviceStatusPatch({ service, conditions });
  if (patch !== undefined) await writes.patch(service, patch, "report an error", signal);
}

/** The whole list at the end of a reconcile; undefined when nothing changes, or nothing that justifies a write. */
export function finalConditions(
  service: Service,
  problems: readonly Problem[],
  now: number,
  isWrittenAnyway: boolean,
): readonly ServiceCondition[] | undefined {
  const { isChanged, isWorthAWrite, conditions } = conditionsFor(service, problems, now);
  return isChanged && (isWorthAWrite || isWrittenAnyway) ? conditions : undefined;
}

// Reports on Services: events, once while their condition lasts, and conditions for errors.

import type { Problem } from "../../../core/problem.ts";
import { keyOf, type Service, type ServiceCondition } from "../../../kube/objects.ts";
import { serviceStatusPatch } from "../../../kube/patches/service-patch.ts";
import type { Call } from "../../../provider/call.ts";
import { Reporter } from "../../kernel/board.ts";
import type { ServiceControllerDeps } from "../deps.ts";
import type { EventTopic } from "../state/service-record.ts";
import type { ServiceRecords } from "../state/service-records.ts";
import { conditionsFor } from "./status.ts";

export type ServiceReporter = Reporter<Service, EventTopic>;

/** Reported findings are part of the Service's record. */
export function createServiceReporter(
  send: ServiceControllerDeps["report"],
  records: ServiceRecords,
): ServiceReporter {
  return new Reporter(send, {
    put: (service, topic, problems) => records.of(service).report(topic, problems),
  });
}

/** Topics whose events no longer apply after a successful reconcile. */
const transient = ["failure", "waiting", "drift", "absence"] as const satisfies readonly EventTopic[];

/** Called after a successful reconcile. The same failure is reported again if it returns. */
export function reportRecovery(reporter: ServiceReporter, service: Service, except?: EventTopic): void {
  for (const topic of transient) if (topic !== except) reporter.report(service, topic, []);
}

/** Called when the cloud has answered since. A silent failure of the whole account then does not explain the problem. */
export function endAccountFailure(
  reporter: ServiceReporter,
  records: ServiceRecords,
  service: Service,
): void {
  if (
    records
      .of(service)
      .board.of("failure")
      .every(({ isQuiet }) => isQuiet === true)
  )
    reporter.report(service, "failure", []);
}

export interface ShowProblemsDeps {
  readonly controller: Pick<ServiceControllerDeps, "services" | "writes" | "clock">;
  readonly reporter: ServiceReporter;
  readonly call: Pick<Call, "signal">;
}

export async function showProblems(
  deps: ShowProblemsDeps,
  topic: Extract<EventTopic, "annotations" | "absence" | "adoption" | "duplicates" | "plan">,
  service: Service,
  problems: readonly Problem[],
  /** Problems from earlier stages, which the condition includes. */
  earlier: readonly Problem[] = [],
): Promise<void> {
  deps.reporter.report(service, topic, problems);
  await writeErrorCondition(deps, service, [...earlier, ...problems]);
}

/** The Service including writes from earlier stages of the same reconcile. The API server rejects a patch of an older status. */
export function withOwnWrites(
  { services }: Pick<ServiceControllerDeps, "services">,
  service: Service,
): Service {
  const latest = services.get(keyOf(service.metadata));
  return latest?.metadata.uid === service.metadata.uid ? latest : service;
}

/** Writes only errors. Conditions are removed at the end of the reconcile, since a later stage may find the same problem. */
export async function writeErrorCondition(
  { controller, call }: Pick<ShowProblemsDeps, "controller" | "call">,
  given: Service,
  problems: readonly Problem[],
): Promise<void> {
  if (!problems.some(({ severity }) => severity === "error")) return;
  const { writes, clock } = controller;
  const service = withOwnWrites(controller, given);
  const { isErrorChanged, conditions } = conditionsFor(service, problems, clock.now());
  // Each stage knows only some of the warnings.
  if (!isErrorChanged) return;
  const patch = serviceStatusPatch({ service, conditions });
  if (patch !== undefined) await writes.patch(service, patch, "report an error", call.signal);
}

/** All conditions at the end of a reconcile; undefined when nothing changes, or nothing that justifies a write. */
export function finalConditions(
  service: Service,
  problems: readonly Problem[],
  now: number,
  isWrittenAnyway: boolean,
  unhealthy?: readonly Problem[],
): readonly ServiceCondition[] | undefined {
  const { isChanged, isWorthAWrite, conditions } = conditionsFor(service, problems, now, unhealthy);
  return isChanged && (isWorthAWrite || isWrittenAnyway) ? conditions : undefined;
}

// Publishes the events of Services, once while their condition lasts, and writes errors as a condition too.

import type { Problem } from "../../../core/problem.ts";
import type { Service, ServiceCondition } from "../../../kube/objects.ts";
import { serviceStatusPatch } from "../../../kube/patches/service-patch.ts";
import type { ServiceControllerDeps, ServiceEvent } from "../deps.ts";
import type { EventTopic, ServiceStates } from "../state/service-states.ts";
import { problemFound } from "./events.ts";
import { conditionsFor } from "./status.ts";

/** Topics whose events no longer apply after a successful reconcile. */
const transient = ["failure", "waiting", "drift", "absence"] as const satisfies readonly EventTopic[];

export class EventPublisher {
  readonly #send: (service: Service, event: ServiceEvent) => void;
  readonly #states: ServiceStates;

  constructor(send: (service: Service, event: ServiceEvent) => void, states: ServiceStates) {
    this.#send = send;
    this.#states = states;
  }

  /** Events without a reason are not published. */
  publish(service: Service, event: ServiceEvent): void {
    if (event.reason !== "") this.#send(service, event);
  }

  /** Publishes the events that are not among the topic's last events, and remembers all of them as its last events. */
  publishOnce(service: Service, topic: EventTopic, events: readonly ServiceEvent[]): void {
    const state = this.#states.of(service);
    const before = state.published.get(topic);
    if (events.length === 0 && before === undefined) return;
    const byIdentity = new Map(
      events.map((event) => [`${event.reason} ${event.identity ?? event.message}`, event]),
    );
    this.#states.commit(state, { kind: "published", topic, events: byIdentity });
    for (const [identity, event] of byIdentity)
      if (before?.has(identity) !== true) this.publish(service, event);
  }

  /** After a successful reconcile: the same failure is published again if it returns. */
  recovered(service: Service, except?: EventTopic): void {
    for (const topic of transient) if (topic !== except) this.publishOnce(service, topic, []);
  }
}

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

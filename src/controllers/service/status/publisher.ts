// Publishes the events of Services. An event is published once while its condition lasts, and again when it returns.

import type { Service } from "../../../kube/objects.ts";
import type { ServiceEvent } from "../deps.ts";
import type { EventTopic } from "../state/service-record.ts";
import type { ServiceStates } from "../state/service-states.ts";

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

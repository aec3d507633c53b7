// Reports on an object: in the log, and as an event unless in observe mode.

import type { NodeEvent } from "../../controllers/node-deps.ts";
import type { EventRecorder } from "../../kube/events/event-recorder.ts";
import type { KubeObject, ObjectReference } from "../../kube/objects.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Log } from "../../telemetry/log.ts";
import { WarningLog } from "./warning-log.ts";

export interface ReporterDeps {
  readonly log: Log;
  readonly events: EventRecorder;
  readonly isObserving: boolean;
  readonly clock: Clock;
  readonly life: AbortSignal;
}

/** `component` is the source of the events. */
export function objectReporter(
  { log, events, isObserving, clock, life }: ReporterDeps,
  component: string,
  referTo: (object: KubeObject) => ObjectReference,
): (object: KubeObject, event: NodeEvent) => void {
  const warnings = new WarningLog(log, clock, life);
  return (about, { type, reason, message, quiet }) => {
    const object = referTo(about);
    const name = object.namespace === undefined ? object.name : `${object.namespace}/${object.name}`;
    // In observe mode the plan reporter logs planned changes; "Ensuring …" would claim that they are made.
    if (isObserving && type === "Normal") return;
    const fields = { [object.kind.toLowerCase()]: name, reason };
    if (quiet === true) log.debug(2, message, fields);
    else if (type === "Warning") warnings.warn({ kind: object.kind, name, reason, message });
    else log.info(message, fields);
    if (!isObserving) events.record({ component, object, type, reason, message });
  };
}

// Says something about an object: in the log always, as an event unless we only observe.

import type { NodeEvent } from "../../controllers/node-deps.ts";
import type { EventRecorder } from "../../kube/events/events.ts";
import type { KubeObject, ObjectReference } from "../../kube/objects.ts";
import type { Log } from "../../telemetry/log.ts";

export interface ReporterDeps {
  readonly log: Log;
  readonly events: EventRecorder;
  readonly isObserving: boolean;
}

export function objectReporter(
  { log, events, isObserving }: ReporterDeps,
  component: string,
  referTo: (object: KubeObject) => ObjectReference,
) {
  return (about: KubeObject, { type, reason, message, quiet }: NodeEvent): void => {
    const object = referTo(about);
    const name = object.namespace === undefined ? object.name : `${object.namespace}/${object.name}`;
    // What would be done is told by the plan; "Ensuring …" would be a lie.
    if (isObserving && type === "Normal") return;
    const fields = { [object.kind.toLowerCase()]: name, reason };
    if (quiet === true) log.debug(2, message, fields);
    else log[type === "Warning" ? "warn" : "info"](message, fields);
    if (!isObserving) events.record({ component, object, type, reason, message });
  };
}

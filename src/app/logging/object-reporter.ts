// Reports on an object: in the log, and as an event unless in observe mode. The first few warnings with the same reason are
// logged individually; further warnings in the next seconds are summarized in one line with their number and some names. A cloud
// without machines would otherwise log a line for each of 5,000 Nodes.

import type { EventSource } from "../../controllers/well-known.ts";
import { type Milliseconds, seconds } from "../../core/brand.ts";
import { defined } from "../../core/defined.ts";
import { eventTypeOf, messageIn, type Problem } from "../../core/problem.ts";
import { shortList } from "../../core/text.ts";
import type { EventRecorder } from "../../kube/events/event-recorder.ts";
import { type KubeObject, keyOf } from "../../kube/objects.ts";
import { apiVersionOf, volumeAttachments } from "../../kube/resources.ts";
import { volumeSnapshotContents, volumeSnapshots } from "../../kube/volume-snapshots.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Log } from "../../telemetry/log.ts";
import type { ReportedKind } from "../../volumes/controller/deps.ts";

export interface ObjectWarning {
  /** The kind of the object: `Node` or `Service`. */
  readonly kind: string;
  /** `namespace/name`. */
  readonly name: string;
  readonly reason: string;
  readonly message: string;
}

interface Burst {
  lines: number;
  readonly others: Set<string>;
  readonly endTimer: () => void;
}

const maxLines = 5;
const burstLength: Milliseconds = seconds(10);

class WarningLog {
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #bursts = new Map<string, Burst>();

  /** Suppressed warnings are logged no later than the end of `life`. */
  constructor(log: Log, clock: Clock, life: AbortSignal) {
    this.#log = log;
    this.#clock = clock;
    life.addEventListener("abort", () => this.#endAll(), { once: true });
  }

  warn(warning: ObjectWarning): void {
    const { kind, name, reason, message } = warning;
    const burst = this.#burstOf(kind, reason);
    if (burst.lines >= maxLines) {
      burst.others.add(name);
      return;
    }
    burst.lines += 1;
    this.#log.warn(message, { [kind.toLowerCase()]: name, reason });
  }

  #burstOf(kind: string, reason: string): Burst {
    const key = `${kind} ${reason}`;
    const known = this.#bursts.get(key);
    if (known !== undefined) return known;
    const endTimer = this.#clock.after(burstLength, () => this.#end(kind, reason));
    const burst = { lines: 0, others: new Set<string>(), endTimer };
    this.#bursts.set(key, burst);
    return burst;
  }

  #end(kind: string, reason: string): void {
    const key = `${kind} ${reason}`;
    const burst = this.#bursts.get(key);
    this.#bursts.delete(key);
    burst?.endTimer();
    if (burst === undefined || burst.others.size === 0) return;
    const names = [...burst.others];
    const objects = names.length === 1 ? `1 more ${kind} has` : `${names.length} more ${kind}s have`;
    this.#log.warn(`${objects} the same problem; each has an event with the details`, {
      reason,
      [`${kind.toLowerCase()}s`]: shortList(names, 120),
    });
  }

  #endAll(): void {
    for (const key of [...this.#bursts.keys()]) {
      const [kind = "", reason = ""] = key.split(" ");
      this.#end(kind, reason);
    }
  }
}

export interface ReporterDeps {
  readonly log: Log;
  readonly events: EventRecorder;
  readonly isObserving: boolean;
  readonly clock: Clock;
  readonly life: AbortSignal;
}

type ObjectReporter = (object: KubeObject, problem: Problem) => void;

/** Returns the reporter of a component for objects of a kind. */
export type ReporterOf = (component: EventSource, kind: "Node" | "Service" | ReportedKind) => ObjectReporter;

const apiVersions: Readonly<Record<string, string>> = {
  VolumeAttachment: apiVersionOf(volumeAttachments),
  VolumeSnapshot: apiVersionOf(volumeSnapshots),
  VolumeSnapshotContent: apiVersionOf(volumeSnapshotContents),
};

/** One instance per reporter, so that a recomposed controller continues earlier bursts. */
export function objectReporters(deps: ReporterDeps): ReporterOf {
  const known = new Map<string, ObjectReporter>();
  return (component, kind) => {
    const key = `${component} ${kind}`;
    const reporter = known.get(key) ?? objectReporter(deps, component, kind);
    known.set(key, reporter);
    return reporter;
  };
}

function objectReporter(
  { log, events, isObserving, clock, life }: ReporterDeps,
  ...[component, kind]: Parameters<ReporterOf>
): ObjectReporter {
  const warnings = new WarningLog(log, clock, life);
  return ({ metadata: { name: bare, namespace, uid } }, problem) => {
    const { reason, isQuiet } = problem;
    const [type, message] = [eventTypeOf(problem), messageIn(problem)];
    // In observe mode the plan reporter logs planned changes; "Ensuring …" would claim that the change is made.
    if (isObserving && type === "Normal") return;
    const name = keyOf(defined({ name: bare, namespace }));
    const fields = { [kind.toLowerCase()]: name, reason };
    if (isQuiet === true) log.debug(2, message, fields);
    else if (type === "Warning") warnings.warn({ kind, name, reason, message });
    else log.info(message, fields);
    const apiVersion = apiVersions[kind] ?? "v1";
    const object = defined({ apiVersion, kind, name: bare, namespace, uid });
    if (!isObserving) events.record({ component, object, type, reason, message });
  };
}

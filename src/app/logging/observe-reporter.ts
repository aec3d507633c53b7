// Reports what observe mode would change. Each change is logged once with its values while it stays the same. A summary with the
// number of changes follows when everything was evaluated, and when that number changes. The summary is logged even without
// changes, because a missing summary means that the evaluation did not finish.

import { isLoadBalancer } from "../../controllers/service/predicates.ts";
import { seconds } from "../../core/brand.ts";
import { countOf, withoutFullStop } from "../../core/text.ts";
import { type Clock, sleep } from "../../platform/clock.ts";
import { describeChange, type JournalEntry } from "../../runtime/journal.ts";
import type { Task } from "../../runtime/run-together.ts";
import type { Log } from "../../telemetry/log.ts";
import { type ReportedManager, unlisted } from "../report/manager-report.ts";

/** Maximum number of remembered changes. When it is exceeded, all are forgotten. */
const capacity = 50_000;

export class PlanReporter {
  readonly #log: Log;
  readonly #planned = new Map<string, JournalEntry>();

  constructor(log: Log) {
    this.#log = log;
  }

  /** The planned changes without duplicates. A recomputed change has its latest values. */
  get planned(): readonly JournalEntry[] {
    return [...this.#planned.values()];
  }

  report(entry: JournalEntry): void {
    const { outcome, action, object, why, target } = entry;
    if (outcome !== "observed") {
      this.#log.debug(2, action, { object, outcome, why });
      return;
    }
    const [kind = action] = action.split(": ");
    const change = describeChange(entry);
    // The reason is part of the key, because several changes of one object may be planned in turn.
    const key = `${target} ${object} ${kind} ${why}`;
    const before = this.#planned.get(key);
    if (before !== undefined && describeChange(before) === change) return;
    if (this.#planned.size >= capacity) {
      this.#planned.clear();
      this.#log.warn(
        `More than ${capacity} changes would be made. The log may repeat the earlier ones, and a plan lists only the later ones.`,
      );
    }
    this.#planned.set(key, entry);
    this.#log.info(`Would ${change}`, { object, because: why });
  }
}

export interface Observation {
  readonly nodes: number;
  readonly services: number;
  /** The number of different changes that would be made. */
  readonly changes: number;
  /** The Nodes and Services that could not be evaluated. */
  readonly problems: number;
  /** The cloud listings that never succeeded, with the reason. */
  readonly unlisted: readonly string[];
}

export function observationOf(
  manager: Pick<ReportedManager, "nodes" | "services" | "controllerReports" | "inventory" | "balancers">,
  changes: number,
): Observation {
  const { nodes, services, controllerReports } = manager;
  const { node, service } = controllerReports();
  const found = [node, service].flatMap((report) => [...(report?.problems.values() ?? [])]);
  return {
    nodes: nodes.list().length,
    services: services.list().filter(isLoadBalancer).length,
    changes,
    problems: found.filter((problems) => problems.some(({ severity }) => severity === "error")).length,
    unlisted: unlisted(manager).map(withoutFullStop),
  };
}

export function describeObservation({ nodes, services, changes, problems, unlisted }: Observation): string {
  const evaluated = `Observed ${countOf(nodes, "Node")} and ${countOf(services, "Service")} of type LoadBalancer`;
  const planned =
    changes === 0
      ? "no changes would be made"
      : `${countOf(changes, "change")} would be made (see the log above)`;
  const unclear = `; ${countOf(problems, "object")} could not be evaluated (see the warnings above)`;
  const incomplete = unlisted.length === 0 ? "" : `. This is incomplete: ${unlisted.join("; ")}`;
  return `${evaluated}: ${planned}${problems === 0 ? "" : unclear}${incomplete}`;
}

const interval = seconds(5);

export function observationTask(
  observe: () => Observation | undefined,
  { log, clock }: { readonly log: Log; readonly clock: Clock },
): Task {
  return {
    name: "observation",
    run: async (stop) => {
      let reported = "";
      let previous = "";
      while (!stop.aborted) {
        const observation = observe();
        const text = observation === undefined ? "" : describeObservation(observation);
        // Requires the same text twice in a row, because queues are briefly empty between two steps of a reconcile.
        if (text !== "" && text === previous && text !== reported) {
          log.info(text);
          reported = text;
        }
        previous = text;
        await sleep(clock, interval, stop).catch(() => undefined);
      }
    },
  };
}

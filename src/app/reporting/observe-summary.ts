// The summary of observe mode: how many changes would be made, logged once everything was evaluated and whenever it
// changes. It is also logged when nothing would change, because a missing summary means that the evaluation did not
// finish.

import { isLoadBalancer } from "../../controllers/service/predicates.ts";
import { seconds } from "../../core/brand.ts";
import { countOf } from "../../core/text.ts";
import { type Clock, sleep } from "../../platform/clock.ts";
import type { Task } from "../../runtime/run-together.ts";
import type { Log } from "../../telemetry/log.ts";
import type { ReportedManager } from "../report/manager-report.ts";

export interface Observation {
  readonly nodes: number;
  readonly services: number;
  /** Different changes that would be made. */
  readonly changes: number;
  /** Nodes and Services that could not be evaluated. */
  readonly problems: number;
}

export function observationOf(
  { nodes, services, controllerReports }: Pick<ReportedManager, "nodes" | "services" | "controllerReports">,
  changes: number,
): Observation {
  const { node, service } = controllerReports();
  const found = [node, service].flatMap((report) => [...(report?.findings.values() ?? [])]);
  return {
    nodes: nodes.list().length,
    services: services.list().filter(isLoadBalancer).length,
    changes,
    problems: found.filter((findings) => findings.some(({ kind }) => kind === "problem")).length,
  };
}

export function describeObservation({ nodes, services, changes, problems }: Observation): string {
  const evaluated = `Observed ${countOf(nodes, "Node")} and ${countOf(services, "Service")} of type LoadBalancer`;
  const planned =
    changes === 0
      ? "no changes would be made"
      : `${countOf(changes, "change")} would be made (see the log above)`;
  const unclear = `; ${countOf(problems, "object")} could not be evaluated (see the warnings above)`;
  return `${evaluated}: ${planned}${problems === 0 ? "" : unclear}`;
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
        // Twice in a row, because queues are briefly empty between two steps of a reconcile.
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

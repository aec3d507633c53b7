// What observing has come to, said once all has been looked at and whenever that changes: that nothing would be done is said
// too, so that a manager that could not look is never taken for one that agrees.

import { isLoadBalancer } from "../../controllers/service/predicates.ts";
import { seconds } from "../../core/brand.ts";
import type { Service } from "../../kube/objects.ts";
import { type Clock, sleep } from "../../platform/clock.ts";
import type { Task } from "../../runtime/run-together.ts";
import type { Log } from "../../telemetry/log.ts";

export interface Observation {
  readonly nodes: number;
  readonly services: number;
  /** Different things that it would do. */
  readonly desired: number;
  /** Nodes and Services of which it cannot say. */
  readonly problems: number;
}

interface Checker {
  isIdle(): boolean;
  /** Undefined once it has answered, and where nobody asks it. */
  cloudProblem(): string | undefined;
  leads(): boolean;
  readonly problems: ReadonlyMap<string, unknown>;
  serviceProblems(): ReadonlyMap<string, unknown>;
}

/** Undefined while something is still being looked at. */
export function observationOf(
  manager: Checker,
  seen: {
    readonly nodes: { readonly size: number };
    readonly services: { list(): readonly Service[] };
    readonly desired: number;
  },
): Observation | undefined {
  return manager.isIdle() && manager.leads() && manager.cloudProblem() === undefined
    ? {
        nodes: seen.nodes.size,
        services: seen.services.list().filter(isLoadBalancer).length,
        desired: seen.desired,
        problems: manager.problems.size + manager.serviceProblems().size,
      }
    : undefined;
}

const count = (number: number, what: string): string => `${number} ${what}${number === 1 ? "" : "s"}`;

export function describeObservation({ nodes, services, desired, problems }: Observation): string {
  const seen = `Observed ${count(nodes, "Node")} and ${count(services, "Service")} of type LoadBalancer`;
  const would =
    desired === 0 ? "nothing would be done" : `${count(desired, "thing")} would be done, told above`;
  const unclear = `; of ${problems} it cannot be said, as the warnings tell`;
  return `${seen}: ${would}${problems === 0 ? "" : unclear}`;
}

const period = seconds(5);

export function observationTask(
  check: () => Observation | undefined,
  { log, clock }: { readonly log: Log; readonly clock: Clock },
): Task {
  return {
    name: "observation",
    run: async (stop) => {
      let reported = "";
      let before = "";
      while (!stop.aborted) {
        const seen = check();
        const text = seen === undefined ? "" : describeObservation(seen);
        // Twice in a row: between two steps of one round nobody is at work either.
        if (text !== "" && text === before && text !== reported) {
          log.info(text);
          reported = text;
        }
        before = text;
        await sleep(clock, period, stop).catch(() => undefined);
      }
    },
  };
}

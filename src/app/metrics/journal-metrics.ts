// Metrics of the journal: changes by target and outcome, and steps on load balancers by action and outcome.

import type { JournalEntry } from "../../runtime/journal.ts";
import type { Metrics } from "../../telemetry/metrics.ts";

export interface JournalMetrics {
  mutation(entry: JournalEntry): void;
}

export function createJournalMetrics(metrics: Metrics): JournalMetrics {
  const mutations = metrics.counter(
    "fairlead_mutations_total",
    "Changes in the journal, by target (cloud or cluster) and outcome.",
    ["target", "outcome"],
  );
  const steps = metrics.counter(
    "fairlead_load_balancer_steps_total",
    "Steps on load balancers, by action and outcome.",
    ["action", "outcome"],
  );
  return {
    mutation: ({ target, outcome, action, object }) => {
      mutations.add({ target, outcome });
      if (object.startsWith("balancer/")) steps.add({ action, outcome });
    },
  };
}

// The journal, counted: every change by its target and outcome, and the steps on load balancers by what they do.

import type { JournalEntry } from "../../runtime/journal.ts";
import type { Metrics } from "../../telemetry/metrics.ts";

export function createJournalMetrics(metrics: Metrics) {
  const mutations = metrics.counter(
    "fairlead_mutations_total",
    "Changes of the journal, by target (cloud or cluster) and outcome.",
    ["target", "outcome"],
  );
  const steps = metrics.counter(
    "fairlead_load_balancer_steps_total",
    "Steps on load balancers, by what was done and how it ended.",
    ["action", "outcome"],
  );
  return {
    mutation: ({ target, outcome, action, object }: JournalEntry): void => {
      mutations.add({ target, outcome });
      if (object.startsWith("balancer/")) steps.add({ action, outcome });
    },
  };
}

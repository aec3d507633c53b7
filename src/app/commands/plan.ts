// `plan`: what a start of the manager would do.

import { defineCommand } from "citty";
import type { CommandPage } from "../command-page.ts";
import type { Invocation } from "./invocation.ts";

export const planPage: CommandPage = {
  name: "plan",
  summary: "Show what a start of the manager would change in the cluster and in the cloud, and exit.",
  details: [
    "Pass the same flags, files and variables as to the manager. It evaluates everything once, with the functions of the manager. It changes nothing: it takes no Lease, and refuses every write before it reaches the network. Permissions to read are enough.",
    "A change that needs proof over time, such as the deletion of a Node whose instance is gone, is not among the changes; its object is listed as waiting.",
  ],
  flags: ["output", "timeout", "kubeconfig", "context"],
  exitCodes: {
    "0": "nothing would be changed, and no object needs attention",
    "1": "the plan is incomplete: the API server or the cloud did not answer",
    "3": "something would be changed, or an object waits, is on hold or has a problem",
  },
  examples: [
    {
      text: "Before the switch from the Go manager",
      words: "plan --cluster-name=prod --cluster-cidr=10.244.0.0/16",
    },
    { text: "For a script", words: "plan --output=json" },
  ],
};

export function definePlan(invocation: Invocation) {
  return defineCommand({
    meta: { name: planPage.name, description: planPage.summary },
    run: async ({ rawArgs }) => {
      // Loaded only here: it contains a whole manager.
      const { runPlan } = await import("./run-plan.ts");
      await runPlan(invocation, rawArgs);
    },
  });
}

// `cleanup`: lists what a cluster left in the cloud, and deletes it after a confirmation.

import { defineCommand } from "citty";
import type { CommandPage } from "../command-page.ts";
import type { Invocation } from "./invocation.ts";

export const cleanupPage: CommandPage = {
  name: "cleanup",
  summary:
    "List the load balancers and routes that a cluster left in the cloud, and delete them after asking.",
  details: [
    "Pass the same settings of the cloud and the same --cluster-name as to the manager, and --cluster-cidr if it managed routes. Without a terminal and without --yes, it only lists.",
    "Only objects with Fairlead's mark are deleted, and routes in --cluster-cidr. What belongs to an existing Service or Node always stays, and nothing is deleted while a manager leads. If the cluster no longer exists, set --cluster-is-gone and --cluster-name.",
    "In some clouds the mark has no place for the name of the cluster. There, select the owners with --owner, or everything with --all-marked.",
  ],
  flags: [
    ...(["yes", "owner", "all-marked", "cluster-is-gone", "cluster-name", "cluster-cidr"] as const),
    ...(["output", "timeout", "kubeconfig", "context"] as const),
  ],
  exitCodes: {
    "0": "nothing was left, or everything that was selected is deleted",
    "1": "refused, or something could not be listed or deleted; the message says what to do",
    "3": "something is left and was only listed: not confirmed, or not selected",
  },
  examples: [
    {
      text: "Only list, also in a script without a terminal",
      words: "cleanup --cluster-name=prod --cluster-cidr=10.244.0.0/16 < /dev/null",
    },
    {
      text: "After the cluster was deleted",
      words: "cleanup --cluster-name=prod --cluster-cidr=10.244.0.0/16 --cluster-is-gone",
    },
    {
      text: "One load balancer, where marks do not name the cluster",
      words: "cleanup --owner=7d5c3c0e-95a2-4ad5-8d2c-3b1e6a3c9f10 --yes",
    },
  ],
};

export function defineCleanup(invocation: Invocation) {
  return defineCommand({
    meta: { name: cleanupPage.name, description: cleanupPage.summary },
    run: async ({ rawArgs }) => {
      // Loaded only here: the manager never cleans up like this.
      const { runCleanup } = await import("./run-cleanup.ts");
      await runCleanup(invocation, rawArgs);
    },
  });
}

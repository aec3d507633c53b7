// `explain`: why a Node or a Service is as it is.

import { defineCommand } from "citty";
import type { CommandPage } from "../command-page.ts";
import type { Invocation } from "./invocation.ts";

export const explainPage: CommandPage = {
  name: "explain",
  summary:
    "Explain why a Node or a Service is as it is, and what to do. Without a name, explain everything that needs attention.",
  usage: ["node NAME", "service [NAMESPACE/]NAME", ""],
  details: [
    "It shows problems, holds, the proofs of absence, the object in the cloud, the next attempt and the last decisions with their reasons.",
    "With --server or --server-ca-file, it asks a running manager. Only the leader knows the reasons. Otherwise, it reads the API server and the cloud with the settings of the manager. It decides with the same functions and changes nothing. If the cloud is not configured here, it shows what the API server has: conditions and events.",
    "It finds the kubeconfig as kubectl does. With the name kubectl-fairlead in PATH, the executable is a plugin: kubectl fairlead explain service web.",
  ],
  words: ["node", "service"],
  flags: ["namespace", "output", "server", "server-ca-file", "offline", "timeout", "kubeconfig", "context"],
  exitCodes: {
    "0": "every requested object is settled, or not managed by Fairlead",
    "1": "the object does not exist, or nothing could be read",
    "3": "a requested object waits or has a problem",
  },
  examples: [
    { text: "Why is this Service pending?", words: "explain service shop/web" },
    {
      text: "Why does this Node keep its taint? Ask the leader",
      words: "explain node worker-1 --server=https://10.0.0.5:10258 --server-ca-file=ca.crt",
    },
    { text: "Everything that needs attention, for a script", words: "explain --output=json" },
  ],
};

export function defineExplain(invocation: Invocation) {
  return defineCommand({
    meta: { name: explainPage.name, description: explainPage.summary },
    run: async ({ rawArgs }) => {
      // Loaded only here: it contains a whole manager.
      const { runExplain } = await import("./run-explain.ts");
      await runExplain(invocation, rawArgs);
    },
  });
}

// `explain`: the state of a Node, a Service or a volume, and its reasons.

import type { Problem } from "../../core/problem.ts";
import { serverProblems } from "../../inspect/explain/ask-manager.ts";
import { invalidFlag } from "../flags/flag-problems.ts";
import type { Flags } from "../flags/flag-table.ts";
import type { Command } from "./command.ts";

/** Explains why the command cannot start with these flags; exit code 2. */
function flagProblems(flags: Flags): readonly Problem[] {
  const { server, offline } = flags;
  return offline && server !== undefined
    ? [invalidFlag("offline", "and --server contradict each other; omit one of them")]
    : serverProblems(server);
}

export const explainCommand: Command = {
  page: {
    name: "explain",
    summary:
      "Explain the state of a Node, a Service or a volume, and what to do. Without a name, explain everything that needs attention.",
    usage: ["node NAME", "service [NAMESPACE/]NAME", "pvc [NAMESPACE/]NAME", "pv NAME", ""],
    details: [
      "explain shows problems, holds, proofs of absence, the cloud object, the next attempt and the last decisions with their reasons.",
      "With --server or --server-ca-file, explain asks a running manager. Only the leader knows the reasons. Otherwise, it reads the API server and the cloud with the manager's settings, decides with the manager's code, and changes nothing. If the cloud is not configured here, it shows only conditions and events from the API server.",
      "explain finds the kubeconfig as kubectl does. If it is named kubectl-fairlead in PATH, the executable is a kubectl plugin: kubectl fairlead explain service web.",
    ],
    words: ["node", "service", "pvc", "pv"],
    flags: ["namespace", "output", "server", "server-ca-file", "offline", "timeout", "kubeconfig", "context"],
    exitCodes: {
      "0": "every requested object is settled, or not managed by Fairlead",
      "1": "the object does not exist, or the API server or a part of the cloud did not answer",
      "3": "a requested object waits or has a problem, or no manager leads",
    },
    examples: [
      { text: "Why is this Service pending?", words: "explain service shop/web" },
      {
        text: "Why does this Node keep its taint? Ask the leader",
        words: "explain node worker-1 --server=https://10.0.0.5:10258 --server-ca-file=ca.crt",
      },
      { text: "Everything that needs attention, for a script", words: "explain --output=json" },
    ],
  },
  async run(invocation, words) {
    // Loaded here because this code includes a whole manager.
    const [{ answerText, exitCodeOf, notFoundText }, { readExplainRequest }, { findAnswer, namespaceOf }] =
      await Promise.all([
        import("../../inspect/explain/explain-text.ts"),
        import("../../inspect/explain/explain-request.ts"),
        import("../../inspect/explain/find-answer.ts"),
      ]);
    const { flags } = invocation.configuration.settings;
    if (invocation.refuse(flagProblems(flags))) return;
    const first = readExplainRequest(words, "default");
    if ("wrong" in first) return invocation.refuseText(first.wrong);
    const operator = await invocation.operator("explain");
    const request = readExplainRequest(words, await namespaceOf(operator));
    if ("wrong" in request) return invocation.refuseText(request.wrong);
    const answer = await findAnswer(operator, request.object);
    if (answer.notFound === undefined || invocation.printsJson)
      await invocation.print(answer, answerText(answer, request.object === undefined));
    if (answer.notFound !== undefined) invocation.writeError(notFoundText(answer.notFound));
    invocation.exitCode = exitCodeOf(answer);
  },
};

// `plan`: shows what the manager would change if it started now.

import { messageIn } from "../../core/problem.ts";
import { inPod } from "../../inspect/explain/ask-manager.ts";
import type { Command } from "./command.ts";

export const planCommand: Command = {
  page: {
    name: "plan",
    summary:
      "Show the changes that the manager would make in the cluster and the cloud after a start, and exit.",
    details: [
      "Pass the manager's flags, files and variables. plan evaluates everything once, with the manager's code. It changes nothing: it takes no Lease, and blocks every write before it reaches the network. Read permissions are enough.",
      "A change that needs proof over time, such as the deletion of a Node whose instance is gone, is not in the plan; its object is listed as waiting.",
    ],
    flags: ["output", "timeout", "kubeconfig", "context"],
    exitCodes: {
      "0": "nothing would be changed, and no object needs attention",
      "1": "the plan is incomplete: the API server or a part of the cloud did not answer",
      "3": "something would be changed, or an object waits, is on hold or has a problem",
    },
    examples: [
      {
        text: "Before the switch from the Go manager",
        words: "plan --cluster-name=prod --cluster-cidr=10.244.0.0/16",
      },
      { text: "For a script", words: "plan --output=json" },
    ],
  },
  requires: "settings",
  withoutSettings: ({ program, spokenName, configuration }) =>
    `plan reads the cloud, so it needs the manager's settings. In a pod that has them: ${inPod(program, "plan", configuration.settings.flags)}. What is wrong now, without them: ${spokenName} explain`,
  async run(invocation) {
    // Loaded here because this code includes a whole manager.
    const [{ describeEverything }, { observeOnce }, { planAnswer, planExitCode, planText }] =
      await Promise.all([
        import("../../inspect/explain/describe-object.ts"),
        import("../../inspect/observe-once.ts"),
        import("../../inspect/plan-answer.ts"),
      ]);
    for (const problem of invocation.configuration.problems) invocation.writeError(messageIn(problem));
    const operator = await invocation.operator("plan");
    const answer = await observeOnce(operator, (evaluated) =>
      planAnswer(evaluated, describeEverything(evaluated.manager, true)),
    );
    await invocation.print(answer, planText(answer));
    invocation.exitCode = planExitCode(answer);
  },
};

// `policy`: prints the cloud policy that the manager's credentials need with these flags.

import { accessNeeds } from "../permissions.ts";
import type { Command } from "./command.ts";

export const policyCommand: Command = {
  page: {
    name: "policy",
    summary:
      "Print the cloud policy that the manager's credentials need, as JSON. Pass the manager's flags, because disabled controllers need no permissions.",
    details: [
      "The policy lists the operations that the code can call. With --mode=observe, it lists only read operations. Clouds without such policies do not have this command.",
    ],
    flags: ["controllers", "mode", "configure-cloud-routes"],
    exitCodes: { 1: "the cloud has no policies" },
    examples: [{ text: "For Nodes only", words: "policy --controllers=cloud-node,cloud-node-lifecycle" }],
  },
  async run(invocation) {
    const { program, provider, console, configuration } = invocation;
    if (provider.policy === undefined) {
      invocation.failWith(
        new Error(
          `${program} has no policy to print: the cloud ${provider.name} has none, or Fairlead does not know it. See the page of the cloud in the documentation for what its credentials need.`,
        ),
      );
      return;
    }
    const { users, isWriting } = accessNeeds(configuration.settings);
    const policy = provider.policy({
      nodes: users.has("cloud-node") || users.has("cloud-node-lifecycle"),
      routes: users.has("node-route"),
      loadBalancers: users.has("service"),
      tagging: users.has("tagging"),
      volumes: users.has("volume"),
      isWriting,
    });
    await console.out(`${JSON.stringify(policy, undefined, 2)}\n`);
  },
};

// `rbac`: prints the permissions that the manager needs with these flags, as `manifests` prints them.

import type { Command } from "./command.ts";
import { printManifests } from "./manifests.ts";

export const rbacCommand: Command = {
  page: {
    name: "rbac",
    summary:
      "Print the roles, bindings and service account that the manager needs, to pipe into kubectl apply -f -. Pass the manager's flags, because disabled controllers and features need no permissions.",
    details: [
      "With --mode=observe, only read permissions are printed. --set name=NAME and --set namespace=NAMESPACE change names; --set user=NAME adds a user for a manager with a kubeconfig. manifests prints the same roles for an installation.",
    ],
    flags: ["controllers", "mode", "set", "leader-elect-resource-name", "leader-elect-resource-namespace"],
    examples: [
      { text: "For Nodes only", words: "rbac --controllers=cloud-node,cloud-node-lifecycle" },
      { text: "For a manager with a kubeconfig", words: "rbac --set user=fairlead | kubectl apply -f -" },
    ],
  },
  run: (invocation) => printManifests(invocation, "rbac"),
};

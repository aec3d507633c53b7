// The configuration file of a package: flags and settings for all clusters of the machine, as an example to edit. Pure.

import type { ProviderModule } from "../../build/provider-module.ts";

export function environmentFile({
  program,
  variables,
}: Pick<ProviderModule, "program" | "variables">): string {
  return `# Flags and settings of ${program} for all clusters of this machine. Only root can read this file.
# /etc/fairlead/CLUSTER/environment has the same form, and takes precedence for one cluster. Start a cluster with:
#   systemctl enable --now fairlead@CLUSTER
# It also needs /etc/fairlead/CLUSTER/kubeconfig. ${program} --help lists all flags and settings.

# Flags, separated by spaces. --cluster-name is set by the unit.
#FAIRLEAD_FLAGS=--cluster-cidr=10.244.0.0/16

# Cloud settings.
${variables.map(({ variable, text }) => `# ${text}\n#${variable}=\n`).join("")}`;
}

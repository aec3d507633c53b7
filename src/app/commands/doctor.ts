// `doctor`: checks the set-up of the cluster, the cloud and this machine, and says how to fix what is wrong.

import type { Command } from "./command.ts";

export const doctorCommand: Command = {
  page: {
    name: "doctor",
    summary:
      "Check the set-up: permissions, Lease, cloud credentials, kubelets, kube-controller-manager and this machine. Show what is wrong and how to fix it.",
    details: [
      "Pass the same flags, files and variables as to the manager. It works with and without a running manager, and writes nothing: it reads, asks the API server about permissions, and lists one page of machines of the cloud.",
      "If a DaemonSet or Deployment of this program exists, the permissions of its service account are checked, else those of the kubeconfig. What the kubeconfig may not read is shown as not checked.",
    ],
    flags: ["output", "timeout", "kubeconfig", "context"],
    exitCodes: {
      "0": "no problems",
      "3": "at least one error: something does not work",
      "4": "only warnings, or something could not be checked",
    },
    examples: [
      { text: "Before the first start", words: "doctor --cluster-name=prod" },
      { text: "In the pod of the manager, for a script", words: "doctor --output=json" },
    ],
  },
  async run(invocation) {
    const [{ gatherFacts }, { diagnose, diagnosisExitCode, diagnosisText }] = await Promise.all([
      import("../../inspect/doctor/gather.ts"),
      import("../../inspect/doctor/diagnose.ts"),
    ]);
    const diagnosis = diagnose(await gatherFacts(await invocation.operator("doctor")));
    await invocation.print(diagnosis, diagnosisText(diagnosis));
    invocation.exitCode = diagnosisExitCode(diagnosis);
  },
};

// `doctor`: checks the configuration of the cluster, the cloud and this machine, and suggests fixes.

import { type Milliseconds, milliseconds, seconds } from "../../core/brand.ts";
import { sleep } from "../../platform/clock.ts";
import type { Command } from "./command.ts";
import type { Invocation } from "./invocation.ts";

const interval = seconds(10);

/** Runs the checks until no error is left or the time is over. Reports the errors whenever they change. */
async function diagnoseUntil(invocation: Invocation, wait: Milliseconds) {
  const [{ gatherFacts }, { diagnose, errorsText }] = await Promise.all([
    import("../../inspect/doctor/gather.ts"),
    import("../../inspect/doctor/diagnose.ts"),
  ]);
  const { platform, signal, configuration } = invocation;
  const operator = await invocation.operator("doctor");
  // Settings are read only once, so waiting cannot fix their errors.
  const areSettingsValid = configuration.problems.every(({ severity }) => severity !== "error");
  const end = platform.clock.monotonic() + (areSettingsValid ? wait : 0);
  let reported: string | undefined;
  for (;;) {
    const result = diagnose(await gatherFacts(operator));
    const errors = errorsText(result);
    const left = end - platform.clock.monotonic();
    if (errors === undefined || left <= 0) return result;
    if (errors !== reported) invocation.writeError(`waiting for ${errors}`);
    reported = errors;
    await sleep(platform.clock, milliseconds(Math.min(left, interval)), signal);
  }
}

export const doctorCommand: Command = {
  page: {
    name: "doctor",
    summary:
      "Check permissions, Lease, cloud credentials, kubelets, kube-controller-manager and this machine. Show problems and how to fix them.",
    details: [
      "Pass the manager's flags, files and variables. doctor works with and without a running manager. It writes nothing: it reads the cluster, reviews permissions, and lists one page of the cloud's machines.",
      "If a DaemonSet or Deployment of this program exists, doctor checks the permissions of its service account, otherwise the permissions of the kubeconfig. Objects that the kubeconfig may not read are shown as not checked.",
      "With --wait, doctor repeats the checks until no error is left, for example after an installation. Each change of the errors is one line on stderr, and the last diagnosis is printed.",
    ],
    flags: ["wait", "output", "timeout", "kubeconfig", "context"],
    exitCodes: {
      "0": "no problems",
      "3": "at least one error: something does not work; with --wait, still after that time",
      "4": "only warnings, or something could not be checked",
    },
    examples: [
      { text: "Before the first start", words: "doctor --cluster-name=prod" },
      { text: "After an installation", words: "doctor --wait=10m" },
      { text: "In the pod of the manager, for a script", words: "doctor --output=json" },
    ],
  },
  async run(invocation) {
    const { diagnosisExitCode, diagnosisText } = await import("../../inspect/doctor/diagnose.ts");
    const result = await diagnoseUntil(
      invocation,
      invocation.configuration.settings.flags.wait ?? milliseconds(0),
    );
    await invocation.print(result, diagnosisText(result));
    invocation.exitCode = diagnosisExitCode(result);
  },
};

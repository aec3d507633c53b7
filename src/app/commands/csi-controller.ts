// `csi-controller`: serves the CSI controller for the sidecars of Kubernetes.

import { messageIn } from "../../core/problem.ts";
import type { Command } from "./command.ts";
import { openLog } from "./open-log.ts";

export const csiControllerCommand: Command = {
  page: {
    name: "csi-controller",
    summary:
      "Serve the CSI services Identity and Controller for cloud volumes, for external-provisioner, external-attacher and external-resizer.",
    details: [
      "Pass the manager's cloud settings. csi-controller needs no access to the API server. The sidecars elect a leader and send the requests; csi-controller executes them, and refuses to delete an attached volume.",
    ],
    flags: ["csi-endpoint", "http-endpoint", "mode", "cloud-call-timeout"],
    exitCodes: {
      "0": "stopped as requested",
      "1": "the socket could not be opened, or a call to the cloud did not end",
    },
    examples: [
      {
        text: "In a pod with the sidecars",
        words: "csi-controller --csi-endpoint=unix:///run/csi/socket",
      },
    ],
  },
  isLong: true,
  requires: "settings",
  async run(invocation) {
    const log = await openLog(invocation);
    for (const problem of invocation.configuration.problems)
      if (problem.severity === "warning") log.warn(messageIn(problem));
    const { runController } = await import("../volumes/controller-process.ts");
    invocation.exitCode = (await runController(invocation, log)) ? 0 : 1;
  },
};

// `node-volumes`: serves CSI on a Node and registers with the kubelet.

import type { Command } from "./command.ts";
import { openLog } from "./open-log.ts";

export const nodeVolumesCommand: Command = {
  page: {
    name: "node-volumes",
    summary: "Serve the CSI services Identity and Node on this machine, and register with its kubelet.",
    details: [
      "node-volumes runs as root on each Node, with the machine's devices and mounts. It reads the Node of its machine, which the manager has initialized, and needs no cloud settings or credentials. A disk is formatted only when it is provably blank.",
    ],
    flags: [
      ...(["csi-endpoint", "http-endpoint", "node-name", "plugin-registration-path"] as const),
      ...(["kubelet-registration-path", "host-root"] as const),
      "kubeconfig",
    ],
    exitCodes: {
      "0": "stopped as requested",
      "1": "a socket could not be opened, or the kubelet refused the plugin",
    },
    examples: [
      {
        text: "In a DaemonSet",
        words:
          "node-volumes --csi-endpoint=unix:///run/csi/socket --kubelet-registration-path=/var/lib/kubelet/plugins/csi.example.com/socket",
      },
    ],
  },
  async run(invocation) {
    const log = await openLog(invocation);
    const { runNode } = await import("../volumes/node-process.ts");
    invocation.exitCode = (await runNode(invocation, log)) ? 0 : 1;
  },
};

// `support-bundle`: one file for a bug report, without secrets.

import { defineCommand } from "citty";
import type { CommandPage } from "../command-page.ts";
import type { Invocation } from "./invocation.ts";

export const supportBundlePage: CommandPage = {
  name: "support-bundle",
  summary:
    "Write one .tar.gz for a bug report: version, configuration, state, metrics, events and log, without secrets.",
  details: [
    "With --server or --server-ca-file it asks a running manager, as explain does. Without them it contains what the API server and this machine have. What cannot be read is listed with the reason.",
    "Values of secrets, credentials in URLs and what looks like a credential are replaced. Names and addresses of your cluster stay, so read the files before you publish them. The file is readable only for you.",
  ],
  flags: ["file", "server", "server-ca-file", "timeout", "kubeconfig", "context"],
  exitCodes: {
    "0": "the file is written, and contains everything",
    "1": "the file could not be written",
    "3": "the file is written, but something is missing; the list says why",
  },
  examples: [
    {
      text: "From the leader",
      words: "support-bundle --server=https://10.0.0.5:10258 --server-ca-file=ca.crt",
    },
    { text: "Without a running manager", words: "support-bundle --file=bundle.tar.gz" },
  ],
};

export function defineSupportBundle(invocation: Invocation) {
  return defineCommand({
    meta: { name: supportBundlePage.name, description: supportBundlePage.summary },
    run: async ({ rawArgs }) => {
      // Loaded only here: the manager writes no bundle.
      const { runSupportBundle } = await import("./run-support-bundle.ts");
      await runSupportBundle(invocation, rawArgs);
    },
  });
}

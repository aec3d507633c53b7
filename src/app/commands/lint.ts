// `lint`: checks Services and configuration files, for CI.

import { defineCommand } from "citty";
import type { CommandPage } from "../command-page.ts";
import type { Invocation } from "./invocation.ts";

export const lintPage: CommandPage = {
  name: "lint",
  summary: "Check Services, Nodes and --config files before they are applied, without a cluster; for CI.",
  usage: ["FILE...", "-"],
  details: [
    "Files are YAML or JSON, with any number of documents; - reads from stdin. Services of type LoadBalancer are checked for annotations, source ranges, ports and names; Nodes for the annotations of Fairlead; configuration files for flags, settings of the cloud and the checks of the provider. Other objects are ignored.",
    "If the settings of the cloud are set, Services are also checked for what its load balancers do not support. No request is sent.",
    "--output=github prints annotations, which GitHub Actions shows at the lines of a pull request.",
  ],
  takesFiles: true,
  flags: ["output"],
  exitCodes: {
    "0": "no problems",
    "1": "a file cannot be read",
    "3": "errors or warnings; --output=json has the severity of each",
  },
  examples: [
    { text: "All manifests of a folder", words: "lint deploy/*.yaml" },
    { text: "Before they are applied", words: "lint - < service.yaml" },
    { text: "In GitHub Actions", words: "lint --output=github deploy/*.yaml" },
  ],
};

export function defineLint(invocation: Invocation) {
  return defineCommand({
    meta: { name: lintPage.name, description: lintPage.summary },
    run: async ({ rawArgs }) => {
      // Loaded only here: it contains a parser for YAML.
      const { runLint } = await import("./run-lint.ts");
      await runLint(invocation, rawArgs);
    },
  });
}

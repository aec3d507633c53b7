// `version`, --version and --notices: what this executable was built from.

import { defineCommand } from "citty";
import type { CommandPage } from "../command-page.ts";
import { buildDetails, notices, version } from "../version.ts";
import type { Invocation } from "./invocation.ts";

export const versionPage: CommandPage = {
  name: "version",
  summary:
    "Print the version, as --version does; with --notices, the licenses of everything in this executable.",
  flags: ["version", "notices"],
  examples: [{ text: "All details of the build", words: "--version=raw" }],
};

export function defineVersion(invocation: Invocation) {
  const { program, console, configuration } = invocation;
  return defineCommand({
    meta: { name: versionPage.name, description: versionPage.summary },
    run: async ({ rawArgs }) => {
      if (invocation.refuseArguments("version", rawArgs)) return;
      const { flags } = configuration.settings;
      if (flags.notices) await console.out(notices);
      else await console.out(flags.version === "raw" ? buildDetails(program) : `${program} ${version}\n`);
    },
  });
}

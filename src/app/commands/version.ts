// `version`, --version and --notices: print the version and the licenses of the components.

import { buildDetails, notices, version } from "../build-info.ts";
import type { Command } from "./command.ts";

export const versionCommand: Command = {
  page: {
    name: "version",
    summary:
      "Print the version, like --version; with --notices, the licenses of all software in this executable.",
    flags: ["version", "notices"],
    examples: [{ text: "All details of the build", words: "--version=raw" }],
  },
  async run(invocation) {
    const { spokenName: program, console, configuration } = invocation;
    const { flags } = configuration.settings;
    if (flags.notices) await console.out(notices);
    else await console.out(flags.version === "raw" ? buildDetails(program) : `${program} ${version}\n`);
  },
};

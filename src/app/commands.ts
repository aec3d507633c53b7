// What the executable does at once and then ends: help, version, notices, a manifest; and what is wrong with a command that
// it does not know.

import type { Problem } from "../core/problem.ts";
import type { Files } from "../seams/files.ts";
import type { Configuration } from "./configuration.ts";
import type { AnyProvider } from "./connect-cloud.ts";
import { helpText } from "./help.ts";
import { rawVersion } from "./raw-version.ts";
import { notices, version } from "./version.ts";
import { keptAuthority, webhookManifest } from "./webhook-manifest.ts";

/** The text that was asked for; undefined when it is the manager that is wanted. */
export const answerCommand = async (
  { settings: { flags, positional } }: Configuration,
  { provider, program, files }: { provider: AnyProvider; program: string; files: Files },
): Promise<string | undefined> => {
  if (flags.help) return helpText(program, provider.config);
  if (flags.notices) return notices;
  if (flags.version !== "no" || positional[0] === "version") {
    return flags.version === "raw" ? rawVersion(program) : `${program} ${version}\n`;
  }
  if (positional[0] === "webhook-manifest") {
    return webhookManifest(program, await keptAuthority(flags, files));
  }
  return undefined;
};

export const commandProblems = (
  { settings: { flags, positional }, problems }: Configuration,
  provider: AnyProvider,
): readonly Problem[] => {
  const found: Problem[] = [];
  // The value of a flag that is not known looks like a command; the flag is what is wrong.
  const hasUnknownFlag = problems.some(({ reason }) => reason === "UnknownFlag");
  const command = positional.find((word) => word !== "run");
  if (command !== undefined && !hasUnknownFlag) {
    found.push({
      severity: "error",
      reason: "UnknownCommand",
      text: `${command} is not a command; there are run (the default), version and webhook-manifest`,
    });
  }
  const named = flags["cloud-provider"];
  if (named !== undefined && ![provider.name, "external"].includes(named)) {
    found.push({
      severity: "error",
      reason: "WrongCloud",
      text: `--cloud-provider is ${JSON.stringify(named)}, but this executable is for ${JSON.stringify(provider.name)}; start ${named}-cloud-controller-manager, or leave the flag out`,
    });
  }
  return found;
};

// The commands of the executable, declared with citty. citty resolves the command from the words on the command line; flags
// have pflag's semantics and are read before, by flags/pflag.ts, so citty sees only words.

import { type CommandDef, defineCommand, runCommand } from "citty";
import { didYouMean } from "../../core/did-you-mean.ts";
import { codeOf } from "../../core/errors.ts";
import { otherCommandProblems } from "../flags/flag-problems.ts";
import type { ReadFlags } from "../flags/read-flags.ts";
import { flagFields } from "../flags/table.ts";
import { version } from "../version.ts";
import { defineExplain, explainPage } from "./explain.ts";
import { defineHelp } from "./help.ts";
import type { Invocation } from "./invocation.ts";
import { defineLint, lintPage } from "./lint.ts";
import { defineManifests } from "./manifests.ts";
import { definePlan, planPage } from "./plan.ts";
import { defineRun } from "./run.ts";
import { defineSchema } from "./schema.ts";
import { defineVersion } from "./version.ts";
import { defineWebhookManifest } from "./webhook-manifest.ts";

const pages = [explainPage, planPage, lintPage];

/** In the order of the help. */
function commandsOf(invocation: Invocation): Readonly<Record<string, CommandDef>> {
  const commands = {
    run: defineRun(invocation),
    explain: defineExplain(invocation),
    plan: definePlan(invocation),
    lint: defineLint(invocation),
    version: defineVersion(invocation),
    "webhook-manifest": defineWebhookManifest(invocation),
    schema: defineSchema(invocation),
    manifests: defineManifests(invocation),
  };
  // citty looks up words with `in`, so the object must not inherit from Object.prototype.
  return Object.assign(Object.create(null), commands, {
    help: defineHelp(invocation, { others: commands, pages }),
  });
}

/** --help, --version and --notices select a command, as upstream's flags do; with --help all other flags are ignored. */
function wordsOf({ flags, positional }: ReadFlags, names: readonly string[], isPlugin: boolean): string[] {
  if (flags.help) return ["help", ...positional];
  // A kubectl plugin without arguments must not start a manager.
  if (isPlugin && positional.length === 0) return ["help"];
  if (!flags.notices && flags.version === "false") return [...positional];
  const [first = ""] = positional;
  return ["version", ...positional.slice(names.includes(first) ? 1 : 0)];
}

export async function runCommandLine(invocation: Invocation): Promise<void> {
  const { program, provider, configuration } = invocation;
  const subCommands = commandsOf(invocation);
  const names = Object.keys(subCommands);
  const root = defineCommand({
    meta: { name: program, version, description: `Cloud controller manager for ${provider.name}.` },
    default: "run",
    subCommands,
  });
  const words = wordsOf(configuration.settings, names, invocation.isPlugin);
  const { given, flags } = configuration.settings;
  const [command = "run"] = words;
  if (!flags.help && invocation.refuse(otherCommandProblems(flagFields, given, command))) return;
  try {
    await runCommand(root, { rawArgs: words });
  } catch (error) {
    if (codeOf(error) !== "E_UNKNOWN_COMMAND") throw error;
    const [word = ""] = words;
    const meant = didYouMean(word, names);
    const hint =
      meant === undefined ? `commands: ${names.join(", ")} (default: run)` : `did you mean ${meant}?`;
    invocation.refuse([...configuration.problems, ...invocation.unknownCommand(word, hint)]);
  }
}

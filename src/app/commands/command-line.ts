// The commands of the executable, declared with citty. citty resolves the command from the words on the command line; flags
// have pflag's semantics and are read before, by flags/pflag.ts, so citty sees only words.

import { type CommandDef, defineCommand, runCommand } from "citty";
import { didYouMean } from "../../core/did-you-mean.ts";
import { codeOf } from "../../core/errors.ts";
import type { CommandPage } from "../command-page.ts";
import { otherCommandProblems } from "../flags/flag-problems.ts";
import type { ReadFlags } from "../flags/read-flags.ts";
import { flagFields } from "../flags/table.ts";
import { version } from "../version.ts";
import { completionPage, defineCompletion } from "./completion.ts";
import { defineExplain, explainPage } from "./explain.ts";
import { defineHelp } from "./help.ts";
import type { Invocation } from "./invocation.ts";
import { defineLint, lintPage } from "./lint.ts";
import { defineMan, manCommandPage } from "./man.ts";
import { defineManifests, manifestsPage } from "./manifests.ts";
import { definePlan, planPage } from "./plan.ts";
import { defineRun } from "./run.ts";
import { defineSchema, schemaPage } from "./schema.ts";
import { defineVersion, versionPage } from "./version.ts";
import { defineWebhookManifest, webhookManifestPage } from "./webhook-manifest.ts";

/** The commands with a help text of their own. */
const pages: readonly CommandPage[] = [
  ...[explainPage, planPage, lintPage, manifestsPage, webhookManifestPage],
  ...[schemaPage, completionPage, manCommandPage, versionPage],
];

/** In the order of the help. */
function commandsOf(invocation: Invocation): Readonly<Record<string, CommandDef>> {
  const pagesOf = async (): Promise<readonly CommandPage[]> =>
    Promise.all(Object.values(commands).map(pageOf));
  const commands: Readonly<Record<string, CommandDef>> = {
    run: defineRun(invocation),
    explain: defineExplain(invocation),
    plan: definePlan(invocation),
    lint: defineLint(invocation),
    manifests: defineManifests(invocation),
    "webhook-manifest": defineWebhookManifest(invocation),
    schema: defineSchema(invocation),
    completion: defineCompletion(invocation, pagesOf),
    man: defineMan(invocation, pagesOf),
    version: defineVersion(invocation),
    help: defineHelp(invocation, { pagesOf, pages }),
  };
  // citty looks up words with `in`, so the object must not inherit from Object.prototype.
  return Object.assign(Object.create(null), commands);
}

/** The page of a command without one has only its description. */
async function pageOf({ meta }: CommandDef): Promise<CommandPage> {
  const { name = "", description = "" } = (typeof meta === "function" ? await meta() : await meta) ?? {};
  return pages.find((page) => page.name === name) ?? { name, summary: description };
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

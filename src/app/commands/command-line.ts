// The commands of the executable, declared with citty. citty resolves the command from the words on the command line; flags
// have pflag's semantics and are read before, by flags/pflag.ts, so citty sees only words.

import { type CommandDef, defineCommand, runCommand } from "citty";
import { codeOf } from "../../core/errors.ts";
import type { CommandPage } from "../command-page.ts";
import { otherCommandProblems } from "../flags/flag-problems.ts";
import type { ReadFlags } from "../flags/read-flags.ts";
import { flagFields } from "../flags/table.ts";
import { version } from "../version.ts";
import { cleanupPage, defineCleanup } from "./cleanup.ts";
import { completeForKubectl, completionPage, defineCompletion } from "./completion.ts";
import { defineExplain, explainPage } from "./explain.ts";
import { commandHint, defineHelp } from "./help.ts";
import type { Invocation } from "./invocation.ts";
import { defineLint, lintPage } from "./lint.ts";
import { defineMan, manCommandPage } from "./man.ts";
import { defineManifests, manifestsPage } from "./manifests.ts";
import { definePlan, planPage } from "./plan.ts";
import { defineRun } from "./run.ts";
import { defineSchema, schemaPage } from "./schema.ts";
import { defineSupportBundle, supportBundlePage } from "./support-bundle.ts";
import { defineVersion, versionPage } from "./version.ts";
import { defineWebhookManifest, webhookManifestPage } from "./webhook-manifest.ts";

/** The commands with a help text of their own. */
const ownPages: readonly CommandPage[] = [
  ...[explainPage, planPage, lintPage, cleanupPage, supportBundlePage, manifestsPage],
  ...[webhookManifestPage, schemaPage, completionPage, manCommandPage, versionPage],
];

/** In the order of the help. */
function commandsOf(invocation: Invocation): Readonly<Record<string, CommandDef>> {
  const pages = (): Promise<readonly CommandPage[]> => pagesOf(commands);
  const commands: Readonly<Record<string, CommandDef>> = {
    run: defineRun(invocation),
    explain: defineExplain(invocation),
    plan: definePlan(invocation),
    lint: defineLint(invocation),
    cleanup: defineCleanup(invocation),
    "support-bundle": defineSupportBundle(invocation),
    manifests: defineManifests(invocation),
    "webhook-manifest": defineWebhookManifest(invocation),
    schema: defineSchema(invocation),
    completion: defineCompletion(invocation, pages),
    man: defineMan(invocation, pages),
    version: defineVersion(invocation),
    help: defineHelp(invocation, { pagesOf: pages, pages: ownPages }),
  };
  // citty looks up words with `in`, so the object must not inherit from Object.prototype.
  return Object.assign(Object.create(null), commands);
}

function pagesOf(commands: Readonly<Record<string, CommandDef>>): Promise<readonly CommandPage[]> {
  return Promise.all(Object.values(commands).map(pageOf));
}

/** The page of a command without one has only its description. */
async function pageOf({ meta }: CommandDef): Promise<CommandPage> {
  const { name = "", description = "" } = (typeof meta === "function" ? await meta() : await meta) ?? {};
  return ownPages.find((page) => page.name === name) ?? { name, summary: description };
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

/** `args` are the words and flags as they were given. */
export async function runCommandLine(invocation: Invocation, args: readonly string[]): Promise<void> {
  const { program, provider, configuration } = invocation;
  const subCommands = commandsOf(invocation);
  if (invocation.isCompletion) return completeForKubectl(invocation, () => pagesOf(subCommands), args);
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
    // Which settings are required depends on the command.
    const unknown = invocation.unknownCommand(word, commandHint(word, names));
    invocation.refuse([...configuration.flagProblems, ...unknown]);
  }
}

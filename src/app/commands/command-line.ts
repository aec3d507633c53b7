// Selects the command with citty, from the words on the command line. Flags follow pflag's rules; flags/pflag.ts reads them
// first, so citty sees only words.

import { type CommandDef, defineCommand, runCommand } from "citty";
import { runtimeCodeOf } from "../../core/error-message.ts";
import type { Problem } from "../../core/problem.ts";
import { version } from "../build-info.ts";
import { otherCommandProblems } from "../flags/flag-problems.ts";
import { flagFields } from "../flags/flag-table.ts";
import type { ReadFlags } from "../flags/read-flags.ts";
import { cleanupCommand } from "./cleanup.ts";
import type { Command } from "./command.ts";
import { complete, completionCommand, wordsToComplete } from "./completion.ts";
import { csiControllerCommand } from "./csi-controller.ts";
import { doctorCommand } from "./doctor.ts";
import { explainCommand } from "./explain.ts";
import { commandHint, helpCommand } from "./help.ts";
import type { Invocation } from "./invocation.ts";
import { lintCommand } from "./lint.ts";
import { manCommand } from "./man.ts";
import { manifestsCommand } from "./manifests.ts";
import { marksCommand } from "./marks.ts";
import { nodeVolumesCommand } from "./node-volumes.ts";
import { planCommand } from "./plan.ts";
import { policyCommand } from "./policy.ts";
import { rbacCommand } from "./rbac.ts";
import { runManagerCommand } from "./run.ts";
import { schemaCommand } from "./schema.ts";
import { smokeCommand } from "./smoke.ts";
import { supportBundleCommand } from "./support-bundle.ts";
import { versionCommand } from "./version.ts";
import { webhookManifestCommand } from "./webhook-manifest.ts";

/** The commands in the order in which the help lists them. */
const commands: readonly Command[] = [
  ...[runManagerCommand, explainCommand, planCommand, doctorCommand, lintCommand, cleanupCommand],
  ...[
    marksCommand,
    smokeCommand,
    supportBundleCommand,
    manifestsCommand,
    rbacCommand,
    policyCommand,
    webhookManifestCommand,
    schemaCommand,
    csiControllerCommand,
    nodeVolumesCommand,
    completionCommand,
    manCommand,
  ],
  ...[versionCommand, helpCommand],
];
const pages = commands.map(({ page }) => page);
export const commandNames = pages.map(({ name }) => name);

const short = new Set(["--help", "-h", "--version"]);
for (const { page, isLong } of commands) if (isLong !== true) short.add(page.name);

/** Whether the command runs until it is stopped. */
export const runsForLong = (args: readonly string[]): boolean => !args.some((arg) => short.has(arg));

const isUnset = ({ severity, reason }: Problem): boolean =>
  severity === "error" && reason === "MissingSetting";

async function runChecked(command: Command, invocation: Invocation, words: readonly string[]): Promise<void> {
  const { page, requires } = command;
  if (requires === "nothing") return command.run(invocation, words, pages);
  const { problems, flagProblems } = invocation.configuration;
  const unexpected = page.usage === undefined ? invocation.unexpectedWords(page.name, words) : [];
  if (invocation.refuse([...(requires === "settings" ? problems : flagProblems), ...unexpected])) {
    if (command.withoutSettings !== undefined && problems.some(isUnset))
      invocation.writeError(command.withoutSettings(invocation));
    return;
  }
  try {
    await command.run(invocation, words, pages);
  } catch (error) {
    invocation.failWith(error);
  } finally {
    await invocation.closeClouds();
  }
}

function defineAll(invocation: Invocation): Readonly<Record<string, CommandDef>> {
  const defined = commands.map((command): [string, CommandDef] => {
    const { name, summary } = command.page;
    const run = ({ rawArgs }: { readonly rawArgs: readonly string[] }) =>
      runChecked(command, invocation, rawArgs);
    return [name, defineCommand({ meta: { name, description: summary }, run })];
  });
  // citty looks up words with `in`, so the object must not inherit from Object.prototype.
  return Object.assign(Object.create(null), Object.fromEntries(defined));
}

/** --help, --version and --notices select a command, as upstream's flags do; with --help all other flags are ignored. */
function wordsOf({ flags, positional }: ReadFlags, isPlugin: boolean): string[] {
  if (flags.help) return ["help", ...positional];
  if (!flags.notices && flags.version === "false") {
    // A kubectl plugin without arguments must not start a manager.
    return isPlugin && positional.length === 0 ? ["help"] : [...positional];
  }
  const [first = ""] = positional;
  return ["version", ...positional.slice(commandNames.includes(first) ? 1 : 0)];
}

/** `args` are the words and flags as the user typed them. */
export async function runCommandLine(invocation: Invocation, args: readonly string[]): Promise<void> {
  const { program, provider, configuration } = invocation;
  const completed = wordsToComplete(invocation, args);
  if (completed !== undefined) return complete(invocation, pages, completed);
  const root = defineCommand({
    meta: { name: program, version, description: `Cloud controller manager for ${provider.name}.` },
    default: "run",
    subCommands: defineAll(invocation),
  });
  const words = wordsOf(configuration.settings, invocation.isPlugin);
  const { given, flags } = configuration.settings;
  const [command = "run"] = words;
  if (!flags.help && invocation.refuse(otherCommandProblems(flagFields, given, command))) return;
  try {
    await runCommand(root, { rawArgs: words });
  } catch (error) {
    if (runtimeCodeOf(error) !== "E_UNKNOWN_COMMAND") throw error;
    const [word = ""] = words;
    // Which settings are required depends on the command.
    const unknown = invocation.unknownCommand(word, commandHint(word, commandNames));
    invocation.refuse([...configuration.flagProblems, ...unknown]);
  }
}

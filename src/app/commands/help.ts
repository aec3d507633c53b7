// `help` and --help: the commands, the flags in upstream's groups, and the cloud settings. With a
// command name, only the help of that command.

import { didYouMean } from "../../core/did-you-mean.ts";
import type { Field } from "../../core/settings.ts";
import { flagFields } from "../flags/flag-table.ts";
import { flagHelp, helpText, shortHelp } from "../flags/help-text.ts";
import { withPresets } from "../flags/provider-flags.ts";
import { type Command, commandHelp } from "./command.ts";

/** Suggests a replacement for an unknown command. */
export function commandHint(word: string, names: readonly string[]): string {
  const meant = didYouMean(word, names);
  return meant === undefined ? `commands: ${names.join(", ")} (default: run)` : `did you mean ${meant}?`;
}

export const helpCommand: Command = {
  page: {
    name: "help",
    isGeneral: true,
    summary: "Show this help, like --help; with a command, show its help.",
  },
  requires: "nothing",
  async run(invocation, [asked, ...rest], pages) {
    const { spokenName: program, provider, console, configuration } = invocation;
    const { flags, positional } = configuration.settings;
    // With --help all other input is ignored, as in upstream.
    if (!flags.help && invocation.refuse(configuration.flagProblems)) return;
    const page = pages.find(({ name, isGeneral }) => name === asked && isGeneral !== true);
    if (page !== undefined) {
      const fields: Readonly<Record<string, Field<unknown>>> = withPresets(flagFields, provider.presets);
      await console.out(
        commandHelp(program, page, (name) => flagHelp(name, fields[name] ?? flagFields[name])),
      );
      return;
    }
    const summaries = Object.fromEntries(pages.map(({ name, summary }) => [name, summary]));
    if (!flags.help) {
      // `kubectl fairlead` was run without arguments.
      if (positional.length === 0) {
        await console.out(shortHelp(program, summaries));
        return;
      }
      const names = pages.map(({ name }) => name);
      const isUnknown = asked !== undefined && !names.includes(asked);
      if (isUnknown) invocation.refuse(invocation.unknownCommand(asked, commandHint(asked, names)));
      if (isUnknown || invocation.refuse(invocation.unexpectedWords("help", rest))) return;
    }
    await console.out(helpText(program, provider, summaries));
  },
};

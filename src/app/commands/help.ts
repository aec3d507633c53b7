// `help`, and --help: the commands, the flags in upstream's groups, and the settings of the cloud; with the name of a command, only
// that command.

import { defineCommand } from "citty";
import { didYouMean } from "../../core/did-you-mean.ts";
import type { Field } from "../../core/settings.ts";
import { type CommandPage, commandHelp } from "../command-page.ts";
import { flagHelp, helpText } from "../flags/help.ts";
import { withPresets } from "../flags/provider-flags.ts";
import { flagFields } from "../flags/table.ts";
import type { Invocation } from "./invocation.ts";

export const helpMeta = {
  name: "help",
  description: "Show this help, as --help does; with a command, its help.",
};

/** What to use instead of an unknown command. */
export function commandHint(word: string, names: readonly string[]): string {
  const meant = didYouMean(word, names);
  return meant === undefined ? `commands: ${names.join(", ")} (default: run)` : `did you mean ${meant}?`;
}

export interface HelpOptions {
  /** Of all commands, in the order of the help. */
  readonly pagesOf: () => Promise<readonly CommandPage[]>;
  /** Those that have a help text of their own. */
  readonly pages: readonly CommandPage[];
}

export function defineHelp(invocation: Invocation, { pagesOf, pages }: HelpOptions) {
  const { spokenName: program, provider, console } = invocation;
  return defineCommand({
    meta: helpMeta,
    run: async ({ rawArgs: [asked, ...rest] }) => {
      const page = pages.find(({ name }) => name === asked);
      if (page !== undefined) {
        const fields: Readonly<Record<string, Field<unknown>>> = withPresets(flagFields, provider.presets);
        await console.out(
          commandHelp(program, page, (name) => flagHelp(name, fields[name] ?? flagFields[name])),
        );
        return;
      }
      const commands = (await pagesOf()).map(({ name, summary }) => [name, summary] as const);
      // With --help everything else is ignored, as by upstream.
      if (!invocation.configuration.settings.flags.help) {
        const names = commands.map(([name]) => name);
        const isUnknown = asked !== undefined && !names.includes(asked);
        if (isUnknown) invocation.refuse(invocation.unknownCommand(asked, commandHint(asked, names)));
        if (isUnknown || invocation.refuse(invocation.unexpectedWords("help", rest))) return;
      }
      await console.out(helpText(program, provider, Object.fromEntries(commands)));
    },
  });
}

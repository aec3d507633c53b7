// `help`, and --help: the commands, the flags in upstream's groups, and the settings of the cloud; with the name of a command, only
// that command.

import { type CommandDef, defineCommand } from "citty";
import type { Field } from "../../core/settings.ts";
import { flagHelp, helpText } from "../flags/help.ts";
import { withPresets } from "../flags/provider-flags.ts";
import { flagFields } from "../flags/table.ts";
import { type CommandPage, commandHelp } from "./command-page.ts";
import type { Invocation } from "./invocation.ts";

const meta = { name: "help", description: "Show this help, as --help does; with a command, its help." };

/** Description by name. */
async function descriptionsOf(commands: Readonly<Record<string, CommandDef>>) {
  const described: Record<string, string> = {};
  for (const [name, command] of Object.entries(commands)) {
    const { description = "" } =
      (typeof command.meta === "function" ? await command.meta() : await command.meta) ?? {};
    described[name] = description;
  }
  return described;
}

export interface HelpOptions {
  /** The other commands, in the order of the help. */
  readonly others: Readonly<Record<string, CommandDef>>;
  readonly pages: readonly CommandPage[];
}

export function defineHelp(invocation: Invocation, { others, pages }: HelpOptions) {
  const { spokenName: program, provider, console } = invocation;
  return defineCommand({
    meta,
    run: async ({ rawArgs: [asked] }) => {
      const page = pages.find(({ name }) => name === asked);
      if (page !== undefined) {
        const fields: Readonly<Record<string, Field<unknown>>> = withPresets(flagFields, provider.presets);
        await console.out(
          commandHelp(program, page, (name) => flagHelp(name, fields[name] ?? flagFields[name])),
        );
        return;
      }
      const commands = { ...(await descriptionsOf(others)), help: meta.description };
      await console.out(helpText(program, provider, commands));
    },
  });
}

// `help`, and --help: the commands, the flags in upstream's groups, and the settings of the cloud.

import { type CommandDef, defineCommand } from "citty";
import { helpText } from "../flags/help.ts";
import type { Invocation } from "./invocation.ts";

const meta = { name: "help", description: "Show this help, as --help does." };

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

/** `others` are the other commands, in the order of the help. */
export function defineHelp(invocation: Invocation, others: Readonly<Record<string, CommandDef>>) {
  const { program, provider, console } = invocation;
  return defineCommand({
    meta,
    run: async () => {
      const commands = { ...(await descriptionsOf(others)), help: meta.description };
      await console.out(helpText(program, provider, commands));
    },
  });
}

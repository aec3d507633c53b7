// A command of the executable: its function, and its entry in the help, the man page and the shell completion. Each command
// has one file.

import { wrapText } from "../../core/text.ts";
import type { FlagName } from "../flags/flag-table.ts";
import type { Invocation } from "./invocation.ts";

export interface CommandExample {
  readonly text: string;
  /** After the name of the program. */
  readonly words: string;
}

export interface CommandPage {
  readonly name: string;
  /** Its help is the help of the program. */
  readonly isGeneral?: true;
  /** One sentence, for the list of commands. */
  readonly summary: string;
  /** The usage after the command name, one line for each form. Absent: only flags. */
  readonly usage?: readonly string[];
  /** Paragraphs. */
  readonly details?: readonly string[];
  /** The values of the first word, for completion. */
  readonly words?: readonly string[];
  /** Its words are files. */
  readonly takesFiles?: true;
  /** The flags that matter most here. */
  readonly flags?: readonly FlagName[];
  /** Meanings by exit code; 2 always means invalid usage. */
  readonly exitCodes?: Readonly<Record<string, string>>;
  readonly examples?: readonly CommandExample[];
}

export interface Command {
  readonly page: CommandPage;
  /**
   * Preconditions; if they fail, the command ends with exit code 2. If unset: flags, and no words unless the page has a usage.
   * `settings`: cloud settings too. `nothing`: the command checks its prerequisites and handles its errors.
   */
  readonly requires?: "settings" | "nothing";
  /** It runs until it is stopped. */
  readonly isLong?: true;
  /** How to get the answer of the command without settings of the cloud; shown if one is missing. */
  readonly withoutSettings?: (invocation: Invocation) => string;
  /**
   * `words` follow the command name; `pages` are the pages of all commands, in help order. Code that only this command needs is
   * loaded here, so that other commands start fast.
   */
  run(invocation: Invocation, words: readonly string[], pages: readonly CommandPage[]): Promise<void>;
}

export const invalidUsage = "invalid flag, file or argument; nothing was done";

const width = 96;

export function usageLines(program: string, { name, usage = [""] }: CommandPage): readonly string[] {
  return usage.map((form) => `${program} ${name} ${form === "" ? "" : `${form} `}[flags]`);
}

/** The text of `NAME --help`. `flagText` describes one flag. */
export function commandHelp(
  program: string,
  page: CommandPage,
  flagText: (name: FlagName) => string,
): string {
  const { summary, details = [], flags = [], exitCodes, examples = [] } = page;
  const section = (title: string, lines: readonly string[]): readonly string[] =>
    lines.length === 0 ? [] : ["", `${title}:`, "", ...lines];
  const codes = Object.entries({ ...exitCodes, 2: invalidUsage }).map(
    ([code, meaning]) => `  ${code}  ${meaning}`,
  );
  return [
    wrapText(summary, width),
    ...details.flatMap((paragraph) => ["", wrapText(paragraph, width)]),
    ...section(
      "Usage",
      usageLines(program, page).map((line) => `  ${line}`),
    ),
    ...section("Flags", flags.map(flagText)),
    ...section("Exit codes", codes),
    ...section(
      "Examples",
      examples.map(({ text, words }) => `  # ${text}\n  ${program} ${words}`),
    ),
    "",
    `All flags: ${program} --help`,
    "",
  ].join("\n");
}

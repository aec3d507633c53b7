// A command of the executable: what it does, and what the help, the man page and the shell completion say about it. Each command
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
  /** What follows the name of the command, one line for each form. Absent: only flags. */
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
   * What must be right before it runs; else it ends with exit code 2. Absent: flags, and no words unless the page has a usage.
   * `settings`: those of the cloud too. `nothing`: it checks what it needs, and handles its errors.
   */
  readonly requires?: "settings" | "nothing";
  /** It runs until it is stopped. */
  readonly isLong?: true;
  /** How to get the answer of the command without settings of the cloud; shown if one is missing. */
  readonly withoutSettings?: (invocation: Invocation) => string;
  /**
   * `words` follow the name of the command; `pages` are those of all commands, in the order of the help. Code that only this command
   * needs is loaded here, so that the others start fast.
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

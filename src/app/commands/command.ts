// A command of the executable: its function, and its entry in the help, the man page and the shell completion. Each command
// has one file.

import { wrapText } from "../../core/text.ts";
import type { FlagName } from "../flags/flag-table.ts";
import type { Invocation } from "./invocation.ts";

export interface CommandExample {
  readonly text: string;
  /** The words that follow the program name. */
  readonly words: string;
}

export interface CommandPage {
  readonly name: string;
  /** Set if this command's help is the help of the whole program. */
  readonly isGeneral?: true;
  /** One sentence, for the list of commands. */
  readonly summary: string;
  /** The usage after the command name, one line for each form. Unset if the command takes only flags. */
  readonly usage?: readonly string[];
  /** Paragraphs. */
  readonly details?: readonly string[];
  /** The values of the first word, for completion. */
  readonly words?: readonly string[];
  /** The words of this command are files. */
  readonly takesFiles?: true;
  /** The most important flags of this command. */
  readonly flags?: readonly FlagName[];
  /** The meaning of each exit code; 2 always means invalid usage. */
  readonly exitCodes?: Readonly<Record<string, string>>;
  readonly examples?: readonly CommandExample[];
}

export interface Command {
  readonly page: CommandPage;
  /**
   * Preconditions; if they fail, the command exits with code 2. If unset, flags are checked, and words are allowed only if the
   * page has a usage. `settings` also requires valid cloud settings. With `nothing`, the command checks its own prerequisites
   * and handles its own errors.
   */
  readonly requires?: "settings" | "nothing";
  /** Set if the command runs until it is stopped. */
  readonly isLong?: true;
  /** How to get the answer of the command without cloud settings; shown when a setting is missing. */
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

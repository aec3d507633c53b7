// Completes one word of a command line, for kubectl, which asks its plugins. Pure.

import type { CompletedFlag, CompletionTable } from "./completion-table.ts";

export interface Offers {
  /** With a description behind a tab, where there is one. */
  readonly words: readonly string[];
  /** The word is a file. */
  readonly files: boolean;
}

const nothing: Offers = { words: [], files: false };
const files: Offers = { words: [], files: true };

function valuesOf({ value, choices }: CompletedFlag, begun: string, prefix = ""): Offers {
  if (value === "file") return files;
  const fitting = choices.filter((choice) => choice.startsWith(begun));
  return { words: fitting.map((choice) => prefix + choice), files: false };
}

/** The last of the words is completed; it may be empty. */
export function completeWords({ commands, flags }: CompletionTable, given: readonly string[]): Offers {
  const [current = "", previous = ""] = given.toReversed();
  const flagOf = (written: string): CompletedFlag | undefined =>
    flags.find(({ name, shorthand }) => written === `--${name}` || written === `-${shorthand}`);
  const [written = "", value] = current.split(/=(.*)/s);
  const own = flagOf(written);
  if (value !== undefined) return own === undefined ? nothing : valuesOf(own, value, `${written}=`);
  const before = flagOf(previous);
  if (before !== undefined && before.value !== "none") return valuesOf(before, current);
  const command = given.slice(0, -1).flatMap((word) => commands.find(({ name }) => name === word) ?? [])[0];
  if (current.startsWith("-")) {
    const accepted = flags.filter(({ commands: only }) => only?.includes(command?.name ?? "") ?? true);
    const fitting = accepted.filter(({ name }) => `--${name}`.startsWith(current));
    return { words: fitting.map(({ name, text }) => `--${name}\t${text}`), files: false };
  }
  if (command === undefined) {
    const fitting = commands.filter(({ name }) => name.startsWith(current));
    return { words: fitting.map(({ name, summary }) => `${name}\t${summary}`), files: false };
  }
  if (command.takesFiles) return files;
  const isFirst = previous === command.name;
  return { words: isFirst ? command.words.filter((word) => word.startsWith(current)) : [], files: false };
}

/** In the format of cobra: a line for each offer, and what the shell may do besides. */
export function cobraText({ words, files: isFile }: Offers): string {
  const noFiles = 4;
  return `${words.map((word) => `${word}\n`).join("")}:${isFile ? 0 : noFiles}\n`;
}

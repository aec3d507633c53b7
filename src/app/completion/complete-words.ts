// Completes one word of a command line from the tables that parse and describe commands and flags. Shells and kubectl use
// cobra's protocol. Pure.

import type { Field } from "../../core/settings.ts";
import type { AnyProvider } from "../../provider/provider.ts";
import { notesOf } from "../flags/flag-notes.ts";
import { flagFields } from "../flags/flag-table.ts";
import { providerFlags } from "../flags/provider-flags.ts";

/** A command as its page describes it. */
interface CompletedCommand {
  readonly name: string;
  readonly summary: string;
  /** The values of the first word. */
  readonly words?: readonly string[];
  /** The words of this command are files. */
  readonly takesFiles?: true;
}

/** The candidates for the next word, each with an optional tab-separated description, or a file. */
type Offers = readonly string[] | "files";

/** Matches the names of flags whose value is a path. */
const namesPath = /(^|-)(kubeconfig|file|dir|config)$/;

/** The first sentence on one line, short enough for a menu. */
export function menuText(text: string): string {
  const sentence = /^.*?[.;:](?=\s|$)/s.exec(text)?.[0] ?? text;
  const plain = sentence.replace(/[.;:]$/, "").replaceAll(/\s+/g, " ");
  return plain.length > 80 ? `${plain.slice(0, 79)}…` : plain;
}

/** Omits flags without effect, which exist only for the argument lists of other managers. */
export function completedFlags(provider: AnyProvider): readonly (readonly [string, Field<unknown>])[] {
  const fields: Readonly<Record<string, Field<unknown>>> = {
    ...providerFlags(provider).fields,
    ...flagFields,
  };
  const flags = Object.entries(fields).filter(([, field]) => notesOf(field).noEffect === undefined);
  return flags.toSorted(([a], [b]) => (a < b ? -1 : 1));
}

function valuesOf(name: string, { choices = [] }: Field<unknown>, begun: string, prefix = ""): Offers {
  if (choices.length === 0 && namesPath.test(name)) return "files";
  return choices.filter((choice) => choice.startsWith(begun)).map((choice) => prefix + choice);
}

/** Rejoins `--flag=value`, which bash splits into three words. */
function joined(words: readonly string[]): readonly string[] {
  const whole: string[] = [];
  for (const [index, word] of words.entries()) {
    const isPart = word === "=" || words[index - 1] === "=";
    whole.push(isPart ? `${whole.pop() ?? ""}${word}` : word);
  }
  return whole;
}

/** Completes the last word, which may be empty. */
function offersFor(
  provider: AnyProvider,
  pages: readonly CompletedCommand[],
  written: readonly string[],
): Offers {
  const words = joined(written);
  const [current = "", previous = ""] = words.toReversed();
  const flags = completedFlags(provider);
  const flagOf = (word: string) =>
    flags.find(([name, field]) => word === `--${name}` || word === `-${notesOf(field).shorthand}`);
  const [start = "", value] = current.split(/=(.*)/s);
  const own = flagOf(start);
  if (value !== undefined) return own === undefined ? [] : valuesOf(...own, value, `${start}=`);
  const before = flagOf(previous);
  if (before !== undefined && before[1].kind !== "switch") return valuesOf(...before, current);
  const page = words.slice(0, -1).flatMap((word) => pages.find(({ name }) => name === word) ?? [])[0];
  if (current.startsWith("-")) {
    return flags
      .filter(([, field]) => notesOf(field).commands?.includes(page?.name ?? "") ?? true)
      .filter(([name]) => `--${name}`.startsWith(current))
      .map(([name, { text }]) => `--${name}\t${menuText(text)}`);
  }
  const commands = pages.map(({ name, summary }) => `${name}\t${menuText(summary)}`);
  if (page === undefined) return commands.filter((command) => command.startsWith(current));
  if (page.takesFiles === true) return "files";
  const first = page.name === "help" ? commands : (page.words ?? []);
  return previous === page.name ? first.filter((word) => word.startsWith(current)) : [];
}

/** In cobra's format: a line for each completion, and directives for the shell. */
export function completeWords(
  provider: AnyProvider,
  pages: readonly CompletedCommand[],
  words: readonly string[],
): string {
  const offers = offersFor(provider, pages, words);
  return offers === "files" ? ":0\n" : `${offers.map((offer) => `${offer}\n`).join("")}:4\n`;
}

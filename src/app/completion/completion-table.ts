// What a shell can complete: the commands, and the flags with their values. It is made from the tables that parse and describe
// them. Pure.

import type { Field } from "../../core/settings.ts";
import type { AnyProvider } from "../connect-cloud.ts";
import { notesOf } from "../flags/flag-notes.ts";
import { flagFields } from "../flags/flag-table.ts";
import { providerFlags } from "../flags/provider-flags.ts";

export interface CompletedCommand {
  readonly name: string;
  readonly summary: string;
  /** The values of the first word. */
  readonly words: readonly string[];
  /** Its words are files. */
  readonly takesFiles: boolean;
}

export interface CompletedFlag {
  readonly name: string;
  readonly shorthand: string | undefined;
  readonly text: string;
  /** none: a switch. file: a path. words: one of the choices. text: anything else. */
  readonly value: "none" | "file" | "words" | "text";
  readonly choices: readonly string[];
  /** The only commands that accept it; undefined: all. */
  readonly commands: readonly string[] | undefined;
}

export interface CompletionTable {
  readonly program: string;
  readonly commands: readonly CompletedCommand[];
  readonly flags: readonly CompletedFlag[];
}

/** Flags whose value is a path have such a name. */
const namesPath = /(^|-)(kubeconfig|file|dir|config)$/;

/** The first sentence on one line, short enough for a menu. */
export function menuText(text: string): string {
  const sentence = /^.*?[.;:](?=\s|$)/s.exec(text)?.[0] ?? text;
  const plain = sentence.replace(/[.;:]$/, "").replaceAll(/\s+/g, " ");
  return plain.length > 80 ? `${plain.slice(0, 79)}…` : plain;
}

function toFlag(name: string, field: Field<unknown>): CompletedFlag {
  const { shorthand, commands } = notesOf(field);
  const { choices = [], kind, text } = field;
  const value =
    kind === "switch" ? "none" : choices.length > 0 ? "words" : namesPath.test(name) ? "file" : "text";
  return { name, shorthand, text: menuText(text), value, choices, commands };
}

export function completionTable(
  program: string,
  provider: AnyProvider,
  commands: readonly CompletedCommand[],
): CompletionTable {
  const fields: Readonly<Record<string, Field<unknown>>> = {
    ...providerFlags(provider).fields,
    ...flagFields,
  };
  // Flags that have no effect are only for the argument lists of other managers.
  const flags = Object.entries(fields).filter(([, field]) => notesOf(field).noEffect === undefined);
  return {
    program,
    commands,
    flags: flags.map(([name, field]) => toFlag(name, field)).toSorted((a, b) => (a.name < b.name ? -1 : 1)),
  };
}

/** A name that every shell accepts for a function. */
export const functionName = (program: string): string => `_${program.replaceAll(/[^A-Za-z0-9]/g, "_")}`;

/** The text within single quotes of a shell. */
export const quote = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

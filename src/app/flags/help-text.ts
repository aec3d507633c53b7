// The text of --help: commands, flags in upstream's groups, and cloud settings. Deprecated flags are omitted.

import type { Milliseconds } from "../../core/brand.ts";
import { formatDuration } from "../../core/duration.ts";
import { everyField, type Field, type FieldKind, textOfField } from "../../core/settings.ts";
import { wrapText } from "../../core/text.ts";
import { notesOf } from "./flag-notes.ts";
import { flagGroups } from "./flag-table.ts";
import { type FlagsOfProvider, withPresets } from "./provider-flags.ts";

const width = 96;
const indent = "          ";

/** The value placeholders, as pflag prints them. */
const valueNames: Readonly<Record<FieldKind, string>> = {
  switch: "",
  number: " number",
  duration: " duration",
  list: " strings",
  pairs: " key=value,...",
  repeated: " string (repeatable)",
  records: " JSON",
};

/** The value placeholder; empty for a boolean flag. */
function flagValue({ kind, choices }: Field<unknown>): string {
  return choices !== undefined ? ` ${choices.join("|")}` : kind === undefined ? " string" : valueNames[kind];
}

/** Defaults that are secrets or other objects are not shown. */
function defaultText({ fallback, kind }: Field<unknown>): string {
  if (kind === "duration" && typeof fallback === "number" && fallback > 0) {
    return ` (default ${formatDuration(fallback as Milliseconds)})`;
  }
  if (kind === "records") return "";
  if (fallback instanceof Map) {
    return fallback.size === 0
      ? ""
      : ` (default ${[...fallback].map(([key, entry]) => `${key}=${entry}`).join(",")})`;
  }
  if (Array.isArray(fallback)) return fallback.length === 0 ? "" : ` (default ${fallback.join(",")})`;
  const isPlain = fallback === true || Boolean(fallback && ["number", "string"].includes(typeof fallback));
  return isPlain && fallback !== "false" ? ` (default ${fallback})` : "";
}

/** The entry of a flag or setting in --help and the man page. */
export interface Entry {
  readonly name: string;
  /** The one-letter form of a flag. */
  readonly shorthand: string | undefined;
  /** The variable and the flag of a setting. */
  readonly others: readonly string[];
  /** The value placeholder; empty for a boolean flag. */
  readonly value: string;
  /** The description, including the default. */
  readonly text: string;
}

function flagEntry(name: string, field: Field<unknown>): Entry {
  const { shorthand, noEffect, commands } = notesOf(field);
  const nothing = noEffect === undefined ? "" : ` No effect: ${noEffect}.`;
  const only = commands === undefined ? "" : ` Only for ${commands.join(", ")}.`;
  const text = `${field.text}${only}${nothing}${defaultText(field)}`;
  return { name, shorthand, others: [], value: flagValue(field), text };
}

function settingEntry(name: string, field: Field<unknown>): Entry {
  const { env, flag, kind } = field;
  const others = [env ?? [], flag === undefined ? [] : `--${flag}`].flat();
  const variable = env === undefined ? "" : `, or as a JSON array of objects in ${env}`;
  const how = kind === "records" ? ` A list of mappings: set it in the --config file${variable}.` : "";
  return {
    name,
    shorthand: undefined,
    others,
    value: "",
    text: `${textOfField(field)}${defaultText(field)}${how}`,
  };
}

type Documented = Required<Pick<FlagsOfProvider, "config">> & Pick<FlagsOfProvider, "presets">;

/** The flags in upstream's groups, without deprecated ones. */
export function flagEntries({ presets }: Documented): readonly (readonly [string, readonly Entry[]])[] {
  return flagGroups.flatMap(({ title, fields }) => {
    const shown = Object.entries(withPresets(fields, presets)).filter(
      ([, field]) => notesOf(field).deprecated !== true,
    );
    const name = `${title.charAt(0).toUpperCase()}${title.slice(1)}`;
    return shown.length === 0 ? [] : [[name, shown.map(([flag, field]) => flagEntry(flag, field))] as const];
  });
}

export function settingEntries({ config }: Documented): readonly Entry[] {
  return everyField(config).map(([name, field]) => settingEntry(name, field));
}

export const purpose: string =
  "integrates a Kubernetes cluster with its cloud: it initializes Nodes, deletes Nodes whose instance no longer exists, and manages load balancers for Services and routes to pods.";

const block = (term: string, text: string): string => `  ${term}\n${wrapText(text, width, indent)}`;

function flagBlock({ name, shorthand, value, text }: Entry): string {
  return block(`${shorthand === undefined ? "    " : `-${shorthand}, `}--${name}${value}`, text);
}

/** The help of a flag, with its default. */
export function flagHelp(name: string, field: Field<unknown>): string {
  return flagBlock(flagEntry(name, field));
}

/** The commands on one screen, each with the first clause of its summary. */
export function shortHelp(program: string, commands: Readonly<Record<string, string>>): string {
  const widest = Math.max(...Object.keys(commands).map(({ length }) => length)) + 4;
  const lines = Object.entries(commands).map(([name, text]) => {
    const [clause = ""] = text.split(/[:;]|\.(?= |$)/, 1);
    return `  ${name}`.padEnd(widest) + wrapText(clause, 80, " ".repeat(widest)).trimStart();
  });
  return [
    ...["Usage:", `  ${program} [command] [flags]`, "", "Commands:", ...lines, ""],
    ...[`One command: ${program} help COMMAND`, `All flags and settings: ${program} --help`, ""],
  ].join("\n");
}

export function helpText(
  program: string,
  provider: Documented,
  commands: Readonly<Record<string, string>>,
): string {
  const groups = flagEntries(provider).flatMap(([title, entries]) => [
    ...[`${title} flags:`, ""],
    ...entries.map(flagBlock),
    "",
  ]);
  const settings = settingEntries(provider).map(({ name, others, text }) =>
    block(others.length === 0 ? name : `${name} [${others.join(", ")}]`, text),
  );
  return [
    ...[wrapText(`${program} ${purpose}`, width), ""],
    ...["Usage:", `  ${program} [command] [flags]`, ""],
    ...["Commands:", "", ...Object.entries(commands).map(([name, text]) => block(name, text)), ""],
    ...groups,
    ...["Cloud settings, as environment variables or with --config-set name=value:", "", ...settings],
    "",
  ].join("\n");
}

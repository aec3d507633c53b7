// The text of --help: commands, flags in upstream's groups, and the settings of the cloud. Deprecated flags are left out.

import type { Milliseconds } from "../../core/brand.ts";
import { formatDuration } from "../../core/duration.ts";
import { everyField, type Field, type FieldKind } from "../../core/settings.ts";
import { wrapText } from "../../core/text.ts";
import { notesOf } from "./flag-notes.ts";
import { flagGroups } from "./flag-table.ts";
import { type FlagsOfProvider, withPresets } from "./provider-flags.ts";

const width = 96;
const indent = "          ";

/** The placeholder for the value, as pflag prints it. */
const valueNames: Readonly<Record<FieldKind, string>> = {
  switch: "",
  number: " number",
  duration: " duration",
  list: " strings",
  pairs: " key=value,...",
  repeated: " string (repeatable)",
  records: " JSON",
};

/** The placeholder of the value; empty for a switch. */
export function flagValue({ kind, choices }: Field<unknown>): string {
  return choices !== undefined ? ` ${choices.join("|")}` : kind === undefined ? " string" : valueNames[kind];
}

/** Defaults that are secrets or other objects are not shown. */
export function defaultText({ fallback, kind }: Field<unknown>): string {
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

/** One flag, with its text and its default. */
export function flagHelp(name: string, field: Field<unknown>): string {
  const { shorthand, noEffect, commands } = notesOf(field);
  const short = shorthand === undefined ? "    " : `-${shorthand}, `;
  const nothing = noEffect === undefined ? "" : ` No effect: ${noEffect}.`;
  const only = commands === undefined ? "" : ` Only for ${commands.join(", ")}.`;
  const text = wrapText(`${field.text}${only}${nothing}${defaultText(field)}`, width, indent);
  return `  ${short}--${name}${flagValue(field)}\n${text}`;
}

function howToSet({ env }: Field<unknown>): string {
  const variable = env === undefined ? "" : `, or as a JSON array of objects in ${env}`;
  return `A list of mappings: set it in the --config file${variable}.`;
}

const headingOf = (title: string): string => `${title.charAt(0).toUpperCase()}${title.slice(1)} flags:`;

export function helpText(
  program: string,
  { config, presets }: Required<Pick<FlagsOfProvider, "config">> & Pick<FlagsOfProvider, "presets">,
  commands: Readonly<Record<string, string>>,
): string {
  const groups = flagGroups.flatMap(({ title, fields }) => {
    const shown = Object.entries(withPresets(fields, presets)).filter(
      ([, field]) => notesOf(field).deprecated !== true,
    );
    if (shown.length === 0) return [];
    return [headingOf(title), "", ...shown.map(([name, field]) => flagHelp(name, field)), ""];
  });
  const settings = everyField(config).map(([name, field]) => {
    const names = [field.env ?? [], field.flag === undefined ? [] : `--${field.flag}`].flat();
    const others = names.length === 0 ? "" : ` [${names.join(", ")}]`;
    const how = field.kind === "records" ? ` ${howToSet(field)}` : "";
    return `  ${name}${others}\n${wrapText(`${field.text}${defaultText(field)}${how}`, width, indent)}`;
  });
  return [
    wrapText(
      `${program} integrates a Kubernetes cluster with its cloud: it initializes Nodes, deletes Nodes whose instance no longer exists, and manages load balancers for Services and routes to pods.`,
      width,
    ),
    "",
    "Usage:",
    `  ${program} [command] [flags]`,
    "",
    "Commands:",
    "",
    ...Object.entries(commands).map(([name, text]) => `  ${name}\n${wrapText(text, width, indent)}`),
    "",
    ...groups,
    "Settings of the cloud, as environment variables or with --config-set name=value:",
    "",
    ...settings,
    "",
  ].join("\n");
}

// The help text, made from the flag table: in upstream's groups, each flag with what it takes, what it does and what it is
// without. Deprecated flags are not in it.

import type { Milliseconds } from "../../core/brand.ts";
import { formatDuration } from "../../core/duration.ts";
import type { Field, FieldKind, Fields } from "../../core/settings.ts";
import { wrapText } from "../../core/text.ts";
import { notesOf } from "./flag-notes.ts";
import { flagGroups } from "./table.ts";

const width = 96;
const indent = "          ";

/** What stands behind the name, in pflag's words. */
const takenBy: Readonly<Record<FieldKind, string>> = {
  switch: "",
  number: " number",
  duration: " duration",
  list: " strings",
  pairs: " key=value,...",
  repeated: " string, repeatable",
};

function taken({ kind, choices }: Field<unknown>): string {
  return choices !== undefined ? ` ${choices.join("|")}` : kind === undefined ? " string" : takenBy[kind];
}

/** Secrets and other objects show nothing. */
function fallbackText({ fallback, kind }: Field<unknown>): string {
  if (kind === "duration" && typeof fallback === "number" && fallback > 0) {
    return ` (default ${formatDuration(fallback as Milliseconds)})`;
  }
  if (Array.isArray(fallback)) return ` (default ${fallback.join(",")})`;
  const isPlain = fallback === true || Boolean(fallback && ["number", "string"].includes(typeof fallback));
  return isPlain && fallback !== "false" ? ` (default ${fallback})` : "";
}

function paragraph(name: string, field: Field<unknown>): string {
  const { shorthand, noEffect } = notesOf(field);
  const short = shorthand === undefined ? "    " : `-${shorthand}, `;
  const nothing = noEffect === undefined ? "" : ` No effect: ${noEffect}.`;
  const text = wrapText(`${field.text}${nothing}${fallbackText(field)}`, width, indent);
  return `  ${short}--${name}${taken(field)}\n${text}`;
}

const headingOf = (title: string): string => `${title.charAt(0).toUpperCase()}${title.slice(1)} flags:`;

export function helpText(
  program: string,
  config: Fields,
  commands: Readonly<Record<string, string>>,
  further: Fields = {},
): string {
  const groups = [...flagGroups, { title: "cloud", fields: further }].flatMap(({ title, fields }) => {
    const shown = Object.entries<Field<unknown>>(fields).filter(
      ([, field]) => notesOf(field).deprecated !== true,
    );
    if (shown.length === 0) return [];
    return [headingOf(title), "", ...shown.map(([name, field]) => paragraph(name, field)), ""];
  });
  const settings = Object.entries<Field<unknown>>(config).map(([name, field]) => {
    const env = field.env === undefined ? "" : ` [${field.env}]`;
    return `  ${name}${env}\n${wrapText(`${field.text}${fallbackText(field)}`, width, indent)}`;
  });
  return [
    wrapText(
      `${program} connects a Kubernetes cluster with its cloud: it initialises Nodes, removes those whose machine is gone, makes load balancers for Services and routes to pods.`,
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
    "Settings of the cloud, by variable or with --config-set name=value:",
    "",
    ...settings,
    "",
  ].join("\n");
}

// A table of settings as a page of the reference, so that it cannot go stale. It shows what is declared, never what somebody
// has set; help on the command line is app/flags/help.ts.

import { milliseconds } from "./brand.ts";
import { formatDuration } from "./duration.ts";
import type { Field, Fields } from "./settings.ts";

const keyOf = (name: string, prefix: string): string => (name.includes("/") ? name : prefix + name);

function shown(value: unknown): string {
  if (value instanceof Map) return [...value].map(([key, entry]) => `${key}=${entry}`).join(",");
  return Array.isArray(value) ? value.join(",") : String(value);
}

function fallbackOf(field: Field<unknown>): string {
  if (field.required === true) return "required";
  if (field.fallback === undefined) return "";
  const fallback = shown(field.fallback);
  // A bare number in milliseconds means nothing to a reader of "a duration such as 15s".
  return typeof field.fallback === "number" && field.kind === "duration"
    ? formatDuration(milliseconds(field.fallback))
    : fallback;
}

const inCell = (text: string): string => text.replaceAll("|", "\\|").replaceAll(/\s+/g, " ");

function notesOf(field: Field<unknown>): string[] {
  return [
    ...(field.env === undefined ? [] : [`Environment: \`${field.env}\`.`]),
    ...(field.flag === undefined ? [] : [`Flag: \`--${field.flag}\`.`]),
    ...(field.renamedFrom === undefined
      ? []
      : [`Formerly ${field.renamedFrom.map((name) => `\`${name}\``).join(", ")}.`]),
    ...(field.whenChanged === "reject" ? ["Cannot be changed later."] : []),
    ...(field.whenChanged === "recreate" ? ["A change makes the object again."] : []),
  ];
}

/** Markdown. */
export function settingsReference(fields: Fields, prefix = ""): string {
  const rows = Object.entries<Field<unknown>>(fields).map(([name, field]) => {
    const fallback = fallbackOf(field);
    const cells = [
      `\`${keyOf(name, prefix)}\``,
      inCell([field.text, ...notesOf(field)].join(" ")),
      inCell(field.expects),
      fallback === "" || fallback === "required" ? fallback : `\`${inCell(fallback)}\``,
    ];
    return `| ${cells.join(" | ")} |`;
  });
  return ["| Name | Meaning | Must be | Default |", "|---|---|---|---|", ...rows, ""].join("\n");
}

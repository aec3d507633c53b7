// Renders a settings table as a Markdown table for the reference pages. It shows declarations, not current values.
// app/flags/help-text.ts contains the command-line help. Pure.

import { milliseconds } from "./brand.ts";
import { formatDuration } from "./duration.ts";
import { everyField, type Field, type Fields, textOfField } from "./settings.ts";

const keyOf = (name: string, prefix: string): string => (name.includes("/") ? name : prefix + name);

function textOf(value: unknown): string {
  if (value instanceof Map) return [...value].map(([key, entry]) => `${key}=${entry}`).join(",");
  if (Array.isArray(value) && value.some((entry) => typeof entry === "object")) return JSON.stringify(value);
  return Array.isArray(value) ? value.join(",") : String(value);
}

function fallbackOf(field: Field<unknown>): string {
  if (field.required === true) return "required";
  if (field.fallback === undefined) return "";
  const fallback = textOf(field.fallback);
  // The next column says "a duration such as 15s", so a bare number of milliseconds would be misleading.
  return typeof field.fallback === "number" && field.kind === "duration"
    ? formatDuration(milliseconds(field.fallback))
    : fallback;
}

const inCell = (text: string): string => text.replaceAll("|", "\\|").replaceAll(/\s+/g, " ");

function onlyWithText({ onlyWith = {}, overriddenBy }: Field<unknown>): readonly string[] {
  const needs = Object.entries(onlyWith).map(([name, values]) =>
    [`\`${name}\``, values.join(" or ")].join(" ").trim(),
  );
  return [
    ...(needs.length === 0 ? [] : [`Only with ${needs.join(" and ")}.`]),
    ...(overriddenBy === undefined ? [] : [`Ignored with \`${overriddenBy}\`.`]),
  ];
}

function notesOf(field: Field<unknown>, prefix: string): string[] {
  return [
    ...onlyWithText(field),
    ...(field.env === undefined ? [] : [`Environment: \`${field.env}\`.`]),
    ...(field.flag === undefined ? [] : [`Flag: \`--${field.flag}\`.`]),
    ...(field.renamedFrom === undefined
      ? []
      : [`Formerly ${field.renamedFrom.map((name) => `\`${name}\``).join(", ")}.`]),
    // Cloud settings have no prefix. Annotations and flags have different rules.
    ...(prefix === "" && field.reload === "live" ? ["A reload applies changes."] : []),
    ...(field.whenChanged === "reject" ? ["Cannot be changed later."] : []),
  ];
}

export function settingsReference(fields: Fields, prefix = ""): string {
  const rows = everyField(fields).map(([name, field]) => {
    const fallback = fallbackOf(field);
    const cells = [
      `\`${keyOf(name, prefix)}\``,
      inCell([textOfField(field), ...notesOf(field, prefix)].join(" ")),
      inCell(field.expects),
      fallback === "" || fallback === "required" ? fallback : `\`${inCell(fallback)}\``,
    ];
    return `| ${cells.join(" | ")} |`;
  });
  return ["| Name | Meaning | Must be | Default |", "|---|---|---|---|", ...rows, ""].join("\n");
}

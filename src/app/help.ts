// The help text, made from the flag table: name, what it takes, what it does, what it is without.

import type { Milliseconds } from "../core/brand.ts";
import { formatDuration } from "../core/duration.ts";
import type { Field, Fields } from "../core/settings.ts";
import { flagFields, flagShapes } from "./flags.ts";

const fallbackText = (name: string, { fallback }: Field<unknown>): string => {
  if (fallback === undefined || fallback === false) return "";
  if (Array.isArray(fallback)) return ` (default ${fallback.join(",")})`;
  const isDuration =
    typeof fallback === "number" && flagFields[name as keyof typeof flagFields].expects.includes("duration");
  return ` (default ${isDuration ? formatDuration(fallback as Milliseconds) : String(fallback)})`;
};

/** Secrets and other objects show nothing. */
const settingFallback = ({ fallback }: Field<unknown>): string =>
  typeof fallback === "string" || typeof fallback === "number" ? ` (default ${fallback})` : "";

export const helpText = (program: string, config: Fields): string => {
  const flags = Object.entries<Field<unknown>>(flagFields).map(([name, field]) => {
    const shape = flagShapes[name];
    const takes =
      shape?.kind === "switch"
        ? ""
        : ` ${field.choices?.join("|") ?? (shape?.kind === "list" ? "list" : "value")}`;
    const short = shape?.shorthand === undefined ? "    " : `-${shape.shorthand}, `;
    return `  ${short}--${name}${takes}\n        ${field.text}${fallbackText(name, field)}`;
  });
  const settings = Object.entries<Field<unknown>>(config).map(([name, field]) => {
    const env = field.env === undefined ? "" : ` [${field.env}]`;
    return `  ${name}${env}\n        ${field.text}${settingFallback(field)}`;
  });
  return [
    `${program} initialises the Nodes of a Kubernetes cluster from its cloud and removes those whose machine is gone.`,
    "",
    "Usage:",
    `  ${program} [flags]`,
    "",
    "Flags:",
    ...flags,
    "",
    "Settings of the cloud, by variable or with --config-set name=value:",
    ...settings,
    "",
  ].join("\n");
};

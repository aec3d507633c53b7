// Compares two configurations: the changes as text for the log, and whether they need a new manager or a restart.
// Secret values are never shown.

import { milliseconds } from "../../core/brand.ts";
import { formatDuration } from "../../core/duration.ts";
import { Secret } from "../../core/secret.ts";
import type { Field, FieldKind } from "../../core/settings.ts";
import type { Environment } from "../../platform/environment.ts";
import { type AnyProvider, readConfig } from "../connect-cloud.ts";
import { notesOf } from "../flags/flag-notes.ts";
import { type FlagName, flagFields } from "../flags/table.ts";
import type { Configuration } from "./configuration.ts";

export interface ConfigurationDiff {
  /** Such as "--cluster-name: kubernetes -> prod" and "token: changed". */
  readonly changes: readonly string[];
  /** Changed flags that take effect only after a restart of the process. */
  readonly needRestart: readonly FlagName[];
  /** Whether anything changed besides the log verbosity and flags that need a restart. */
  readonly needsNewManager: boolean;
}

function shown(value: unknown, kind?: FieldKind): string {
  if (value === undefined) return "unset";
  if (kind === "duration" && typeof value === "number") return formatDuration(milliseconds(value));
  if (value instanceof Map)
    return JSON.stringify([...value].map(([key, entry]) => `${key}=${entry}`).join(","));
  return JSON.stringify(value) ?? String(value);
}

function isPlain(value: unknown): value is object {
  return typeof value === "object" && value !== null && !(value instanceof Secret) && !(value instanceof Map);
}

/** For comparison only; never shown. */
function comparable(value: unknown): string {
  if (value instanceof Secret) return `secret ${value.reveal()}`;
  return isPlain(value)
    ? JSON.stringify(Object.entries(value).map(([name, entry]) => [name, comparable(entry)]))
    : shown(value);
}

function hasSecret(value: unknown): boolean {
  return value instanceof Secret || (isPlain(value) && Object.values(value).some(hasSecret));
}

/** Values of --config-set may be secrets; they are reported by the name of the setting. */
const reportedBySetting: readonly FlagName[] = ["config-set"];

export function diffConfigurations(
  before: Configuration,
  after: Configuration,
  { provider, environment }: { readonly provider: AnyProvider; readonly environment: Environment },
): ConfigurationDiff {
  const changes: string[] = [];
  const needRestart: FlagName[] = [];
  let needsNewManager = false;
  for (const name of Object.keys(flagFields) as FlagName[]) {
    const [old, next] = [before.settings.flags[name], after.settings.flags[name]];
    if (reportedBySetting.includes(name) || comparable(old) === comparable(next)) continue;
    const field: Field<unknown> = flagFields[name];
    const restart = notesOf(field).needsRestart === true;
    const change = `${shown(old, field.kind)} -> ${shown(next, field.kind)}`;
    changes.push(`--${name}: ${change}${restart ? " (needs a restart)" : ""}`);
    if (restart) needRestart.push(name);
    else if (name !== "v") needsNewManager = true;
  }
  const valuesOf = ({ settings }: Configuration): Readonly<Record<string, unknown>> =>
    readConfig(provider, { environment, ...settings.cloud }).values;
  const [old, next] = [valuesOf(before), valuesOf(after)];
  for (const [name, { kind }] of Object.entries<Field<unknown>>(provider.config)) {
    if (comparable(old[name]) === comparable(next[name])) continue;
    const hidden = hasSecret(old[name]) || hasSecret(next[name]);
    changes.push(
      `${name}: ${hidden ? "changed" : `${shown(old[name], kind)} -> ${shown(next[name], kind)}`}`,
    );
    needsNewManager = true;
  }
  const files = [before, after].map(({ settings }) => settings.cloud.inputFiles ?? new Map<string, Secret>());
  for (const path of new Set(files.flatMap((inputFiles) => [...inputFiles.keys()]))) {
    if (files[0]?.get(path)?.reveal() === files[1]?.get(path)?.reveal()) continue;
    changes.push(`${path}: changed`);
    needsNewManager = true;
  }
  return { changes, needRestart, needsNewManager };
}

/** The new configuration, with the old values of flags that need a restart. */
export function keepPinned(
  before: Configuration,
  after: Configuration,
  needRestart: readonly FlagName[],
): Configuration {
  const kept = Object.fromEntries(needRestart.map((name) => [name, before.settings.flags[name]]));
  const { settings } = after;
  return { ...after, settings: { ...settings, flags: { ...settings.flags, ...kept } } };
}

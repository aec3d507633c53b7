// Compares two configurations: the changes as text for the log, the changes that need a restart, and a configuration that can be
// applied without one. Secret values are never shown. Pure.

import type { Secret } from "../../core/secret.ts";
import type { Field } from "../../core/settings.ts";
import type { Environment } from "../../platform/environment.ts";
import type { AnyProvider } from "../../provider/provider.ts";
import { controllerSettings } from "../flags/controller-settings.ts";
import { needsRestart } from "../flags/flag-notes.ts";
import { type FlagName, type Flags, flagFields } from "../flags/flag-table.ts";
import { readConfig } from "./cloud-settings.ts";
import type { Configuration } from "./configuration.ts";
import { describeDifference, differenceNeedsRestart, isSame, withLiveEntries } from "./value-differences.ts";

/** A changed value that takes effect after a restart. */
export interface PendingChange {
  /** Such as "--cluster-name" or "endpoint". */
  readonly name: string;
  /** Such as "--cluster-name: kubernetes -> prod". */
  readonly text: string;
}

export interface ConfigurationDiff {
  /** Changes that a reload applies, such as "--concurrent-service-syncs: 8 -> 9" and "token: changed". */
  readonly changes: readonly string[];
  readonly pending: readonly PendingChange[];
  /** Whether anything besides the log verbosity takes effect now. */
  readonly affectsControllers: boolean;
}

export interface DiffContext {
  readonly provider: AnyProvider;
  readonly environment: Environment;
}

/** Values of --config-set may be secrets; they are reported by the name of the setting. */
const reportedBySetting: readonly FlagName[] = ["config-set"];

interface Difference {
  readonly name: string;
  readonly text: string;
  readonly needsRestart: boolean;
}

function flagDifferences(before: Configuration, after: Configuration): readonly Difference[] {
  const names = (Object.keys(flagFields) as FlagName[]).filter((name) => !reportedBySetting.includes(name));
  return names.flatMap((name) => {
    const [old, next] = [before.settings.flags[name], after.settings.flags[name]];
    if (isSame(old, next)) return [];
    const field: Field<unknown> = flagFields[name];
    const text = `--${name}: ${describeDifference(field, old, next)}`;
    return { name, text, needsRestart: needsRestart(field) };
  });
}

function settingDifferences(
  before: Configuration,
  after: Configuration,
  { provider, environment }: DiffContext,
): readonly Difference[] {
  const valuesOf = ({ settings }: Configuration): Readonly<Record<string, unknown>> =>
    readConfig(provider, { environment, ...settings.cloud }).values;
  const [old, next] = [valuesOf(before), valuesOf(after)];
  return Object.entries<Field<unknown>>(provider.config).flatMap(([name, field]) => {
    if (isSame(old[name], next[name])) return [];
    const text = `${name}: ${describeDifference(field, old[name], next[name])}`;
    return { name, text, needsRestart: differenceNeedsRestart(field, old[name], next[name]) };
  });
}

/** Input files that changed. A provider reads them when it connects. */
function changedInputFiles(before: Configuration, after: Configuration): readonly string[] {
  const contentsOf = ({ settings }: Configuration): ReadonlyMap<string, Secret> =>
    settings.cloud.inputFiles ?? new Map();
  const [old, next] = [contentsOf(before), contentsOf(after)];
  // A path that is in only one configuration comes with a changed setting.
  return [...next.keys()]
    .filter((path) => old.has(path) && old.get(path)?.reveal() !== next.get(path)?.reveal())
    .map((path) => `${path}: changed`);
}

export function diffConfigurations(
  before: Configuration,
  after: Configuration,
  context: DiffContext,
): ConfigurationDiff {
  const flags = flagDifferences(before, after);
  const settings = settingDifferences(before, after, context);
  const liveFlags = flags.filter(({ needsRestart }) => !needsRestart);
  const ofCloud = [
    ...settings.filter(({ needsRestart }) => !needsRestart).map(({ text }) => text),
    ...changedInputFiles(before, after),
  ];
  return {
    changes: [...liveFlags.map(({ text }) => text), ...ofCloud],
    pending: [
      ...flags
        .filter(({ needsRestart }) => needsRestart)
        .map(({ name, text }) => ({ name: `--${name}`, text })),
      ...settings.filter(({ needsRestart }) => needsRestart).map(({ name, text }) => ({ name, text })),
    ],
    affectsControllers: ofCloud.length > 0 || liveFlags.some(({ name }) => name !== "v"),
  };
}

/**
 * The new configuration, with the previous values of everything that needs a restart. Secrets in a list of records take their
 * new values.
 */
export function keepPending(
  before: Configuration,
  after: Configuration,
  pending: readonly PendingChange[],
  { provider }: Pick<DiffContext, "provider">,
): Configuration {
  const names = new Set(pending.map(({ name }) => name));
  const keptFlags = (Object.keys(flagFields) as FlagName[]).filter((name) => names.has(`--${name}`));
  const flags: Flags = {
    ...after.settings.flags,
    ...Object.fromEntries(keptFlags.map((name) => [name, before.settings.flags[name]])),
  };
  const { problems: _, ...ofControllers } = controllerSettings(flags);
  const keptSettings = Object.entries<Field<unknown>>(provider.config)
    .filter(([name]) => names.has(name))
    .flatMap(([name, { renamedFrom = [] }]) => [name, ...renamedFrom]);
  const { settings } = after;
  const old = before.settings.cloud;
  const only = (file: Readonly<Record<string, string>> = {}, isKept: boolean) =>
    Object.entries(file).filter(([name]) => keptSettings.includes(name) === isKept);
  const keptIn = (file: Readonly<Record<string, string>> = {}) =>
    only(file, true).map(([name, value]) => {
      const [field, next] = [provider.config[name], settings.cloud.file?.[name]];
      const isInBoth = field !== undefined && next !== undefined;
      return [name, isInBoth ? withLiveEntries(field, value, next) : value] as const;
    });
  return {
    ...after,
    settings: {
      ...settings,
      ...ofControllers,
      ...(names.has("--controllers") && { controllers: before.settings.controllers }),
      flags,
      cloud: {
        ...settings.cloud,
        file: Object.fromEntries([...only(settings.cloud.file, false), ...keptIn(old.file)]),
        // A retained setting may name a file that the new configuration does not name.
        inputFiles: new Map([
          ...(keptSettings.length > 0 ? (old.inputFiles ?? []) : []),
          ...(settings.cloud.inputFiles ?? []),
        ]),
      },
    },
  };
}

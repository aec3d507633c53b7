// The table of all flags, from its groups in `groups/`. Parsing, help and the reference page all use it. Names, meaning and
// defaults are upstream's where upstream has the flag.

import type { Field, Fields, Values } from "../../core/settings.ts";
import { type FlagGroup, notesOf } from "./flag-notes.ts";
import { authenticationFlags, authorizationFlags } from "./groups/authentication.ts";
import { commandFlags } from "./groups/commands.ts";
import { ownFlags } from "./groups/fairlead.ts";
import {
  cloudNodeFlags,
  debuggingFlags,
  genericFlags,
  leaderMigrationFlags,
  miscFlags,
  serviceFlags,
} from "./groups/generic.ts";
import { globalFlags } from "./groups/global.ts";
import { secureServingFlags, webhookFlags, webhookServingFlags } from "./groups/serving.ts";
import type { FlagShape } from "./pflag.ts";

/** In the order of the help: what most operators set comes first. */
export const flagGroups: readonly FlagGroup[] = [
  genericFlags,
  miscFlags,
  ownFlags,
  cloudNodeFlags,
  serviceFlags,
  secureServingFlags,
  authenticationFlags,
  authorizationFlags,
  webhookFlags,
  webhookServingFlags,
  leaderMigrationFlags,
  globalFlags,
  debuggingFlags,
  commandFlags,
];

export const flagFields = {
  ...debuggingFlags.fields,
  ...leaderMigrationFlags.fields,
  ...genericFlags.fields,
  ...cloudNodeFlags.fields,
  ...serviceFlags.fields,
  ...webhookFlags.fields,
  ...webhookServingFlags.fields,
  ...secureServingFlags.fields,
  ...authenticationFlags.fields,
  ...authorizationFlags.fields,
  ...miscFlags.fields,
  ...globalFlags.fields,
  ...ownFlags.fields,
  ...commandFlags.fields,
} as const satisfies Fields;

export type FlagName = keyof typeof flagFields;

const commandLineOnly = "can only be set on the command line";

type CommandFlag = keyof typeof commandFlags.fields;
export const commandFlagNames = Object.keys(commandFlags.fields) as readonly CommandFlag[];

/** Flags that the --config file cannot contain, with what to do about each. */
export const flagsNotInFile: Readonly<Record<string, string>> = {
  config: commandLineOnly,
  help: commandLineOnly,
  notices: commandLineOnly,
  version: commandLineOnly,
  ...(Object.fromEntries(commandFlagNames.map((name) => [name, commandLineOnly])) as Readonly<
    Record<CommandFlag, string>
  >),
  "config-set": "can only be set on the command line; in the file, put the settings under cloud",
};

/** The values of all flags. */
export type Flags = Values<typeof flagFields>;

/** The defaults that `--compatibility=upstream` sets. */
export const upstreamProfile: Readonly<Partial<Record<FlagName, string>>> = {
  "node-match-timeout": "0s",
  "absence-confirmation": "0s",
  "removal-limit": "off",
  "reconcile-labels": "false",
  "prefer-beta-labels": "true",
  "remove-shutdown-taint": "when-ready",
  "node-status-update-frequency": "5m",
  "route-reconciliation-period": "10s",
};

function shapeOf(field: Field<unknown>): FlagShape {
  const { shorthand } = notesOf(field);
  const kind =
    field.kind === "switch" || field.kind === "repeated"
      ? field.kind
      : field.kind === "list" || field.kind === "pairs"
        ? "list"
        : "value";
  return { kind, shorthand };
}

/** How each flag is written on the command line. */
export function shapesOf(fields: Fields): Readonly<Record<string, FlagShape>> {
  return Object.fromEntries(
    Object.entries<Field<unknown>>(fields).map(([name, field]) => [name, shapeOf(field)] as const),
  );
}

export const flagShapes = shapesOf(flagFields);

// The table of all flags, from its groups in `groups/`. Parsing, help and the reference page all use it. Names, meaning and
// defaults are upstream's where upstream has the flag.

import type { Field, Fields, Values } from "../../core/settings.ts";
import { type FlagGroup, notesOf } from "./flag-notes.ts";
import { commandFields } from "./groups/commands.ts";
import {
  cloudNodeFields,
  cloudNodeLifecycleFields,
  leaderMigrationFields,
  serviceFields,
} from "./groups/controllers.ts";
import { ownFields } from "./groups/fairlead.ts";
import { debuggingFields, genericFields, miscFields } from "./groups/generic.ts";
import { globalFields } from "./groups/global.ts";
import {
  authenticationFields,
  authorizationFields,
  secureServingFields,
  webhookFields,
  webhookServingFields,
} from "./groups/serving.ts";
import type { FlagShape } from "./pflag.ts";

/** The groups in the order of the help, starting with the flags that most operators set. */
const groups = {
  generic: genericFields,
  misc: miscFields,
  Fairlead: ownFields,
  "cloud-node-controller": cloudNodeFields,
  "cloud-node-lifecycle-controller": cloudNodeLifecycleFields,
  "service-lb-controller": serviceFields,
  "secure serving": secureServingFields,
  authentication: authenticationFields,
  authorization: authorizationFields,
  webhook: webhookFields,
  "webhook serving": webhookServingFields,
  "leader-migration": leaderMigrationFields,
  global: globalFields,
  debugging: debuggingFields,
  "single commands": commandFields,
} as const satisfies Record<string, Fields>;

export const flagGroups: readonly FlagGroup[] = Object.entries(groups).map(([title, fields]) => ({
  title,
  fields,
}));

type All<G> = (G extends unknown ? (group: G) => void : never) extends (all: infer A) => void ? A : never;

export const flagFields = Object.assign({}, ...Object.values(groups)) as All<
  (typeof groups)[keyof typeof groups]
>;

export type FlagName = keyof typeof flagFields;

const commandLineOnly = "can only be set on the command line";

type CommandFlag = keyof typeof commandFields;
export const commandFlagNames = Object.keys(commandFields) as readonly CommandFlag[];

/** Flags that the --config file cannot contain, with the remedy for each. */
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
  "strict-feature-gates": "true",
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

/** The syntax of each flag on the command line. */
export function shapesOf(fields: Fields): Readonly<Record<string, FlagShape>> {
  return Object.fromEntries(
    Object.entries<Field<unknown>>(fields).map(([name, field]) => [name, shapeOf(field)] as const),
  );
}

export const flagShapes = shapesOf(flagFields);

// The JSON Schema of the --config file, with the schema of the Service annotations in $defs, from the tables that parse them.
// Pure.

import { configurationKind, configurationVersion } from "../../config-file/parse-configuration.ts";
import { annotationsSchema, type JsonSchema, propertiesOf } from "../../config-file/to-schema.ts";
import { ownAnnotations } from "../../controllers/service/annotations/annotations.ts";
import { ownPrefix } from "../../controllers/well-known.ts";
import type { Field, Fields } from "../../core/settings.ts";
import type { AnyProvider } from "../../provider/provider.ts";
import { commonReasons, meaningsOf } from "../../provider/reasons.ts";
import { notesOf } from "../flags/flag-notes.ts";
import { flagFields, flagsNotInFile } from "../flags/flag-table.ts";
import { withPresets } from "../flags/provider-flags.ts";
import { annotationsOf } from "./cloud-settings.ts";

function withPrefix(prefix: string, fields: Fields): Readonly<Record<string, Field<unknown>>> {
  return Object.fromEntries(
    Object.entries<Field<unknown>>(fields).map(([name, field]) => [
      name.includes("/") ? name : prefix + name,
      field,
    ]),
  );
}

function flagSchema(field: Field<unknown>): JsonSchema {
  const { noEffect } = notesOf(field);
  return noEffect === undefined
    ? {}
    : { deprecated: true, description: `${field.text} No effect: ${noEffect}.` };
}

function section(properties: JsonSchema): JsonSchema {
  return {
    type: "object",
    additionalProperties: false,
    properties,
  };
}

export function configurationSchema(provider: AnyProvider, program: string): JsonSchema {
  const { prefix, fields } = annotationsOf(provider);
  const inFile = Object.fromEntries(
    Object.entries(withPresets(flagFields, provider.presets)).filter(
      ([name]) => !Object.hasOwn(flagsNotInFile, name),
    ),
  );
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: `Configuration file (--config) of ${program}`,
    type: "object",
    additionalProperties: false,
    required: ["apiVersion", "kind"],
    properties: {
      apiVersion: { const: configurationVersion },
      kind: { const: configurationKind },
      flags: section(propertiesOf(inFile, flagSchema)),
      cloud: section(propertiesOf(provider.config)),
    },
    $defs: {
      problemReasons: {
        description: `Reasons of problems that the provider reports, in addition to docs/events.md: in events, conditions and the metric fairlead_problems.`,
        oneOf: Object.entries({ ...commonReasons, ...meaningsOf(provider.reasons) }).map(
          ([reason, description]) => ({ const: reason, description }),
        ),
      },
      serviceAnnotations: annotationsSchema({
        ...withPrefix(prefix, fields),
        ...withPrefix(ownPrefix, ownAnnotations),
      }),
    },
  };
}

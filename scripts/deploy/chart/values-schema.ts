// The JSON Schema of the chart's values: the tree of values, and for each cloud its settings. Helm checks it before it renders.

import { flagFields, flagsNotInFile } from "../../../src/app/flags/flag-table.ts";
import { withPresets } from "../../../src/app/flags/provider-flags.ts";
import { type JsonSchema, propertiesOf } from "../../../src/config-file/to-schema.ts";
import type { Field, Fields } from "../../../src/core/settings.ts";
import { type DeployedCloud, deployedClouds, settingVariables } from "../clouds.ts";
import { schemaOf } from "./value-tree.ts";
import { chartValues } from "./values.ts";

/** Files of a machine and the identity of the process, which the chart sets. */
const ofChart = ["kubeconfig", "master", "webhooks", "webhook-tls-cert-file", "webhook-tls-private-key-file"];

const section = (properties: JsonSchema): JsonSchema => ({
  type: "object",
  additionalProperties: false,
  properties,
});

const pick = (fields: Fields, isWanted: (name: string, field: Field<unknown>) => boolean): Fields =>
  Object.fromEntries(Object.entries<Field<unknown>>(fields).filter(([name, field]) => isWanted(name, field)));

function flagsSchema(): JsonSchema {
  const isWanted = (name: string) => !Object.hasOwn(flagsNotInFile, name) && !ofChart.includes(name);
  return section(propertiesOf(pick(withPresets(flagFields), isWanted)));
}

/** Secret settings must not be in a ConfigMap. */
function cloudSchema(cloud: DeployedCloud): JsonSchema {
  const settings = pick(cloud.provider.config, (_, { isSecret }) => isSecret !== true);
  return {
    if: { properties: { cloud: { const: cloud.name } } },
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    then: {
      properties: {
        configuration: { properties: { cloud: section(propertiesOf(settings)) } },
        secret: { properties: { keys: { propertyNames: { enum: settingVariables(cloud) } } } },
      },
    },
  };
}

export function valuesSchema(): JsonSchema {
  const { properties, ...rest } = schemaOf(chartValues);
  return {
    $schema: "http://json-schema.org/draft-07/schema#",
    title: "Values of the Helm chart of Fairlead",
    ...rest,
    properties: {
      // Helm adds this value when the chart is a part of another one.
      global: { type: "object" },
      ...(properties as object),
    },
    required: ["cloud"],
    allOf: [
      { properties: { configuration: { properties: { flags: flagsSchema() } } } },
      ...deployedClouds.map(cloudSchema),
    ],
  };
}

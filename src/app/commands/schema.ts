// `schema`: the JSON Schema of the configuration file and of the annotations of Services.

import { defineCommand } from "citty";
import type { CommandPage } from "../command-page.ts";
import type { Invocation } from "./invocation.ts";

export const schemaPage: CommandPage = {
  name: "schema",
  summary:
    "Print the JSON Schema of the --config file, for editors and CI. $defs has the schema of the Service annotations and the reasons of problems.",
  details: ["lint checks files against the same tables, with the checks of the provider."],
  examples: [{ text: "For an editor", words: "schema > fairlead.schema.json" }],
};

export function defineSchema(invocation: Invocation) {
  const { program, provider, console } = invocation;
  return defineCommand({
    meta: { name: schemaPage.name, description: schemaPage.summary },
    run: async ({ rawArgs }) => {
      if (invocation.refuseArguments("schema", rawArgs)) return;
      const { configurationSchema } = await import("../configuration/schema.ts");
      await console.out(`${JSON.stringify(configurationSchema(provider, program), undefined, 2)}\n`);
    },
  });
}

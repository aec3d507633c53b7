// `schema`: prints the JSON Schema of the configuration file and of the Service annotations.

import type { Command } from "./command.ts";

export const schemaCommand: Command = {
  page: {
    name: "schema",
    summary:
      "Print the JSON Schema of the --config file, for editors and CI. $defs contains the schema of the Service annotations and the problem reasons.",
    details: ["lint checks files against the same tables, with the checks of the provider."],
    examples: [{ text: "For an editor", words: "schema > fairlead.schema.json" }],
  },
  async run(invocation) {
    const { program, provider, console } = invocation;
    const { configurationSchema } = await import("../configuration/json-schema.ts");
    await console.out(`${JSON.stringify(configurationSchema(provider, program), undefined, 2)}\n`);
  },
};

// `schema`: the JSON Schema of the configuration file and of the annotations of Services.

import { defineCommand } from "citty";
import type { Invocation } from "./invocation.ts";

export function defineSchema(invocation: Invocation) {
  const { program, provider, console } = invocation;
  return defineCommand({
    meta: {
      name: "schema",
      description:
        "Print the JSON Schema of the --config file, for editors and CI. $defs has the schema of the Service annotations and the reasons of problems.",
    },
    run: async ({ rawArgs }) => {
      if (invocation.refuseArguments("schema", rawArgs)) return;
      const { configurationSchema } = await import("../configuration/schema.ts");
      await console.out(`${JSON.stringify(configurationSchema(provider, program), undefined, 2)}\n`);
    },
  });
}

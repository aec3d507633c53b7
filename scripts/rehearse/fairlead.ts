// Fairlead as a process, from the sources, for the cloud in the variable FAIRLEAD_CLOUD.

import { runExecutable } from "../../src/app/run.ts";
import { rehearsals } from "./clouds/registry.ts";

const name = process.env["FAIRLEAD_CLOUD"] ?? "";
const definition = rehearsals.find((each) => each.name === name);
if (definition === undefined)
  throw new Error(`FAIRLEAD_CLOUD is ${JSON.stringify(name)}, which is not a cloud.`);
await runExecutable(definition.provider);

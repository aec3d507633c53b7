// Fairlead as a process, from the sources, for the cloud in the variable FAIRLEAD_CLOUD.

import { runExecutable } from "../../src/app/run.ts";
import { findRehearsal } from "./clouds/registry.ts";

const name = process.env["FAIRLEAD_CLOUD"] ?? "";
const definition = findRehearsal(name);
if (definition === undefined)
  throw new Error(`FAIRLEAD_CLOUD is ${JSON.stringify(name)}, which is no cloud.`);
await runExecutable(definition.provider);

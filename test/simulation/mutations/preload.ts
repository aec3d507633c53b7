// Loaded before the simulation, this applies the mutation that FAIRLEAD_MUTATION names to the files of src as they are read.

import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { mutate } from "./mutation.ts";
import { mutationNamed } from "./mutations.ts";

const root = resolve(import.meta.dir, "../../..");
const name = process.env["FAIRLEAD_MUTATION"] ?? "";
const mutation = mutationNamed(name);
if (mutation === undefined) throw new Error(`There is no mutation ${JSON.stringify(name)}.`);

const files = new Map(mutation.edits.map(({ file }) => [join(root, file), file]));
const escaped = [...files.keys()].map((path) => path.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));

Bun.plugin({
  name: "mutation",
  setup: (build) => {
    build.onLoad({ filter: new RegExp(`^(${escaped.join("|")})$`) }, ({ path }) => {
      const contents = mutate(mutation, files.get(path) ?? "", readFileSync(path, "utf8"));
      return { contents, loader: "ts" };
    });
  },
});

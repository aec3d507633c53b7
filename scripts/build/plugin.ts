// kubectl-fairlead: the kubectl plugin for every provider of this repository, each loaded when its cloud is chosen.

import { readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { findModule, type ProgramModule, readModule, runExecutableImport } from "./provider-module.ts";

const root = resolve(import.meta.dir, "../..");

export const plugin = "kubectl-fairlead";

export async function pluginModule(): Promise<ProgramModule> {
  const names = readdirSync(join(root, "providers")).toSorted();
  const modules = await Promise.all(names.map((name) => readModule(findModule(name, root))));
  const loads = modules.map(
    ({ path, exportName }, index) =>
      `  ${names[index]}: () => import(${JSON.stringify(path)}).then(({ ${exportName} }) => ${exportName}),`,
  );
  return {
    entry: [
      runExecutableImport,
      `import { chooseCloud } from ${JSON.stringify(join(root, "src/app/commands/choose-cloud.ts"))};`,
      "const providers = {",
      ...loads,
      "};",
      "void runExecutable((question) => chooseCloud(providers as never, question));",
    ].join("\n"),
    name: plugin,
    program: plugin,
    variables: [],
    driver: undefined,
  };
}

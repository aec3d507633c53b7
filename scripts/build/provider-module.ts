// Finds the provider that an executable is to be made for, and looks at it before anything is made: is there one, and is
// it written for this contract? A provider outside the repository finds "#ccm" here too.

import { existsSync, readdirSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { didYouMean } from "../../src/core/did-you-mean.ts";
import { contractVersion } from "../../src/provider/provider.ts";

const root = resolve(import.meta.dir, "../..");

/** Something to be mended by whoever asked for the build. */
export class BuildError extends Error {}

/** What `imports` of our package.json says holds only inside of it. */
export const ccmEverywhere: Bun.BunPlugin = {
  name: "#ccm",
  setup: (build) => {
    build.onResolve({ filter: /^#ccm$/ }, () => ({ path: join(root, "src/index.ts") }));
  },
};

/** A cloud of ours by name, or a module or its folder by path. */
export function findModule(wanted: string, from: string): string {
  const given = resolve(from, wanted);
  const candidates = [join(root, "providers", wanted, "index.ts"), given, join(given, "index.ts")];
  const found = candidates.find((path) => existsSync(path) && statSync(path).isFile());
  if (found !== undefined) return found;
  const ours = readdirSync(join(root, "providers")).toSorted();
  const meant = didYouMean(wanted, ours);
  const hint = meant === undefined ? "" : ` Did you mean ${meant}?`;
  const checked = candidates.map((path) => `  ${path}\n`).join("");
  throw new BuildError(
    `There is no provider ${wanted}.${hint} Looked for\n${checked}and found none; "npm run new-provider -- <name>" makes one.`,
  );
}

export interface ProviderModule {
  readonly path: string;
  readonly exportName: string;
  readonly name: string;
}

function contractWords(name: string, theirs: unknown): string {
  const says = `The provider ${name} is written for contract ${theirs}, and this Fairlead has contract ${contractVersion}. `;
  return typeof theirs === "number" && theirs > contractVersion
    ? `${says}Build it with a release of Fairlead that has contract ${theirs}.`
    : `${says}Change what the release notes say about contract ${contractVersion}, then write "contract: ${contractVersion}" in its definition; or build it with an older release.`;
}

/** Bundled and loaded once, so that it is looked at with exactly the imports that it will have. */
export async function readModule(path: string): Promise<ProviderModule> {
  const built = await Bun.build({
    entrypoints: [path],
    target: "bun",
    plugins: [ccmEverywhere],
    throw: false,
  });
  const [output] = built.outputs;
  if (!built.success || output === undefined) {
    throw new BuildError(`${path} cannot be built:\n${built.logs.map((log) => `${log}\n`).join("")}`);
  }
  const bundle = Buffer.from(await output.arrayBuffer()).toString("base64");
  const exports = (await import(`data:text/javascript;base64,${bundle}`)) as Record<string, unknown>;
  // By its shape, so that the export may have the cloud's name.
  const exported = Object.entries(exports).find(
    ([, value]) => typeof value === "object" && value !== null && "contract" in value && "connect" in value,
  );
  if (exported === undefined) throw new BuildError(`${path} exports nothing made by defineProvider.`);
  const [exportName, provider] = exported;
  const { name, contract } = provider as { readonly name: string; readonly contract: unknown };
  if (contract !== contractVersion) throw new BuildError(contractWords(name, contract));
  return { path, exportName, name };
}

// Finds and checks the provider module of a build: it exists, it imports only modules that an executable may contain, and
// it is written for this version of the contract. Also resolves "#ccm" for providers outside the repository.

import { existsSync, readdirSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { didYouMean } from "../../src/core/did-you-mean.ts";
import type { Field, Fields } from "../../src/core/settings.ts";
import { programOf } from "../../src/provider/program.ts";
import { contractVersion, type ProviderDefinition } from "../../src/provider/provider.ts";
import { ScriptError } from "../command-line.ts";

const root = resolve(import.meta.dir, "../..");

/** The bundler's messages, each with its position and source line. */
export function messagesText(logs: readonly (BuildMessage | ResolveMessage)[]): string {
  const texts = logs.map(({ message, position }) =>
    position === null
      ? message
      : `${position.file}:${position.line}:${position.column}: ${message}\n    ${position.lineText.trim()}`,
  );
  return texts.map((text) => `${text}\n`).join("");
}

/**
 * Resolves "#ccm" even outside the repository, where this package.json does not apply, and keeps test code out of executables.
 */
export const ccmImports: Bun.BunPlugin = {
  name: "#ccm",
  setup: (build) => {
    build.onResolve({ filter: /^#ccm$/ }, () => ({ path: join(root, "src/index.ts") }));
    build.onResolve({ filter: /^#ccm\/testing$/ }, ({ importer }) => {
      throw new Error(
        `${importer} imports "#ccm/testing", which is for tests and simulators and never part of an executable. Import from "#ccm" instead, or move this code into a test or the simulator.`,
      );
    });
    build.onLoad({ filter: /[\\/]src[\\/]testing[\\/]/ }, ({ path }) => {
      throw new Error(`${path} is for tests and never part of an executable. Import from "#ccm" instead.`);
    });
  },
};

/** The path of a provider's module, given its name in `providers/` or a path. */
export function findModule(wanted: string, from: string): string {
  const given = resolve(from, wanted);
  const candidates = [join(root, "providers", wanted, "index.ts"), given, join(given, "index.ts")];
  const found = candidates.find((path) => existsSync(path) && statSync(path).isFile());
  if (found !== undefined) return found;
  const providers = join(root, "providers");
  const names = existsSync(providers) ? readdirSync(providers).toSorted() : [];
  const meant = didYouMean(wanted, names);
  const hint = meant === undefined ? "" : ` Did you mean ${meant}?`;
  const checked = candidates.map((path) => `  ${path}\n`).join("");
  throw new ScriptError(
    `No provider ${wanted}.${hint} None of these files exists:\n${checked}To create a provider: npm run new-provider -- <name>`,
  );
}

export const runExecutableImport = `import { runExecutable } from ${JSON.stringify(resolve(root, "src/app/run.ts"))};`;

/** What the build needs to compile an executable. */
export interface ProgramModule {
  /** The source of the entry point. */
  readonly entry: string;
  readonly name: string;
  /** The executable's name. */
  readonly program: string;
  /** The settings that have a variable and an effect. */
  readonly variables: readonly {
    readonly variable: string;
    readonly text: string;
    readonly isSecret: boolean;
  }[];
  /** The name of the CSI driver, if the cloud has volumes. */
  readonly driver: string | undefined;
}

export interface ProviderModule extends ProgramModule {
  readonly path: string;
  readonly exportName: string;
}

function contractMismatch(name: string, contract: unknown): string {
  const mismatch = `The provider ${name} is written for contract ${contract}, but this version of Fairlead has contract ${contractVersion}.`;
  return typeof contract === "number" && contract > contractVersion
    ? `${mismatch} Build it with a release of Fairlead that has contract ${contract}.`
    : `${mismatch} Update it as CHANGELOG.md of Fairlead describes, set "contract: ${contractVersion}" in its definition, and build it again, or build it with an older release.`;
}

function variablesOf(config: Fields = {}): ProgramModule["variables"] {
  return Object.values<Field<unknown>>(config).flatMap(({ env, text, isSecret = false }) =>
    env === undefined || text.startsWith("No effect:") ? [] : [{ variable: env, text, isSecret }],
  );
}

/** The stack trace with absolute paths. The source positions of the runtime are relative to the working directory. */
function thrownText(error: unknown): string {
  const text = (error instanceof Error && error.stack) || String(error);
  return text.replaceAll(/(?<=^ +at (?:async )?(?:[^\n]*\()?)[^()\n]+(?=:\d+:\d+\)?$)/gm, (file) =>
    resolve(file),
  );
}

/** Bundles and loads the module, so that it is checked with the imports that the executable will have. */
export async function readModule(path: string): Promise<ProviderModule> {
  const built = await Bun.build({
    entrypoints: [path],
    target: "bun",
    plugins: [ccmImports],
    sourcemap: "inline",
    throw: false,
  });
  const [output] = built.outputs;
  if (!built.success || output === undefined) {
    throw new ScriptError(`${path} could not be built:\n${messagesText(built.logs)}`);
  }
  const bundle = Buffer.from(await output.arrayBuffer()).toString("base64");
  const exports: Record<string, unknown> = await import(`data:text/javascript;base64,${bundle}`).catch(
    (error) => {
      throw new ScriptError(`${path} could not be loaded:\n${thrownText(error)}`);
    },
  );
  // Found by its shape, so that the export may have any name.
  const exported = Object.entries(exports).find(
    ([, value]) => typeof value === "object" && value !== null && "contract" in value && "connect" in value,
  );
  if (exported === undefined) throw new ScriptError(`${path} has no export made with defineProvider.`);
  const [exportName, provider] = exported;
  const { name, executable, contract, config, volumeDriver } = provider as Partial<ProviderDefinition> & {
    readonly name: string;
  };
  if (contract !== contractVersion) throw new ScriptError(contractMismatch(name, contract));
  return {
    path,
    exportName,
    entry: [
      runExecutableImport,
      `import { ${exportName} as provider } from ${JSON.stringify(path)};`,
      "void runExecutable(provider as never);",
    ].join("\n"),
    name,
    program: programOf({ name, executable }),
    variables: variablesOf(config),
    driver: volumeDriver?.name,
  };
}

// Runs the bundler twice: once to list the contents of an executable, and once to compile it with that list. The entry
// point is virtual and imports the program and its provider.

import { resolve } from "node:path";
import { defined } from "../../src/core/defined.ts";
import { ScriptError } from "../command-line.ts";
import { ccmImports, messagesText, type ProgramModule } from "./provider-module.ts";
import { bunTarget, type Target } from "./targets.ts";

const root = resolve(import.meta.dir, "../..");
const entry = resolve(root, "entry.generated.ts");

/** Bundler options of every executable. */
export const bundleOptions = {
  target: "bun",
  minify: true,
  // Dynamic imports become separate chunks, so that short commands do not load the whole program.
  splitting: true,
  format: "esm",
} as const;

/** An executable must not load files from its working directory. */
export const autoloadNothing = {
  autoloadDotenv: false,
  autoloadBunfig: false,
  autoloadTsconfig: false,
  autoloadPackageJson: false,
} as const;

function common({ entry: source }: ProgramModule, defines: Readonly<Record<string, string>>) {
  return {
    entrypoints: [entry],
    files: { [entry]: source },
    plugins: [ccmImports],
    ...bundleOptions,
    define: Object.fromEntries(Object.entries(defines).map(([name, text]) => [name, JSON.stringify(text)])),
    throw: false,
  } as const;
}

interface Built {
  readonly success: boolean;
  readonly logs: readonly (BuildMessage | ResolveMessage)[];
  readonly outputs: readonly { readonly size: number; readonly kind: string; readonly path: string }[];
  readonly metafile?: { readonly inputs: Readonly<Record<string, unknown>> };
}

async function build(config: object): Promise<Built> {
  const built = (await Bun.build(config as Bun.BuildConfig)) as unknown as Built;
  if (!built.success) {
    throw new ScriptError(`The executable could not be built:\n${messagesText(built.logs)}`);
  }
  return built;
}

export interface Contents {
  /** Paths of all source files, relative to the root of the repository. */
  readonly files: readonly string[];
  readonly bytes: number;
}

export async function findContents(provider: ProgramModule): Promise<Contents> {
  const { metafile, outputs } = await build({ ...common(provider, {}), metafile: true });
  return {
    // Sorted, because the bundler lists files in the order in which it has parsed them.
    files: Object.keys(metafile?.inputs ?? {}).toSorted(),
    bytes: outputs.reduce((sum, { size }) => sum + size, 0),
  };
}

/** Writes the program as modules for Bun into the folder, and returns the path of the first one. */
export async function bundle(
  provider: ProgramModule,
  defines: Readonly<Record<string, string>>,
  folder: string,
): Promise<string> {
  const { outputs } = await build({ ...common(provider, defines), outdir: folder });
  const first = outputs.find(({ kind }) => kind === "entry-point");
  if (first === undefined) throw new ScriptError("The bundler wrote no entry point.");
  return first.path;
}

export interface CompileOptions {
  readonly target: Target | undefined;
  readonly outfile: string;
  /** Another Bun executable to embed, for users who relink the executable. */
  readonly runtime: string | undefined;
  readonly defines: Readonly<Record<string, string>>;
}

export async function compile(
  provider: ProgramModule,
  { target, outfile, runtime, defines }: CompileOptions,
): Promise<void> {
  await build({
    ...common(provider, defines),
    bytecode: true,
    compile: {
      outfile,
      ...autoloadNothing,
      ...defined({ target: target && bunTarget(target), executablePath: runtime }),
    },
  });
}

// The two runs of the bundler: one to learn what goes in, one that makes the executable with that knowledge compiled in.
// The entry is virtual and imports the program and one provider, nothing else.

import { resolve } from "node:path";
import { BuildError, ccmEverywhere, type ProviderModule } from "./provider-module.ts";
import { bunTarget, type Target } from "./targets.ts";

const root = resolve(import.meta.dir, "../..");
const entry = resolve(root, "entry.generated.ts");

/** How every executable of ours is made, whatever is inside. */
export const form = {
  target: "bun",
  minify: true,
  // What is imported when it is needed is a part of its own: short commands do not wait for all of it to be read.
  splitting: true,
  format: "esm",
} as const;

/** An executable must not obey files that happen to lie in its working directory. */
export const autoloadNothing = {
  autoloadDotenv: false,
  autoloadBunfig: false,
  autoloadTsconfig: false,
  autoloadPackageJson: false,
} as const;

function common({ path, exportName }: ProviderModule, defines: Readonly<Record<string, string>>) {
  return {
    entrypoints: [entry],
    files: {
      [entry]: [
        `import { runExecutable } from ${JSON.stringify(resolve(root, "src/app/run.ts"))};`,
        `import { ${exportName} as provider } from ${JSON.stringify(path)};`,
        "void runExecutable(provider as never);",
      ].join("\n"),
    },
    plugins: [ccmEverywhere],
    ...form,
    define: Object.fromEntries(Object.entries(defines).map(([name, text]) => [name, JSON.stringify(text)])),
    throw: false,
  } as const;
}

interface Built {
  readonly success: boolean;
  readonly logs: readonly unknown[];
  readonly outputs: readonly { readonly size: number }[];
  readonly metafile?: { readonly inputs: Readonly<Record<string, unknown>> };
}

async function build(config: object): Promise<Built> {
  const built = (await Bun.build(config as Bun.BuildConfig)) as unknown as Built;
  if (!built.success) {
    throw new BuildError(`The executable cannot be built:\n${built.logs.map((log) => `${log}\n`).join("")}`);
  }
  return built;
}

export interface Contents {
  /** Every source file inside, from the root of the repository. */
  readonly files: readonly string[];
  readonly bytes: number;
}

export async function findContents(provider: ProviderModule): Promise<Contents> {
  const { metafile, outputs } = await build({ ...common(provider, {}), metafile: true });
  return {
    files: Object.keys(metafile?.inputs ?? {}),
    bytes: outputs.reduce((sum, { size }) => sum + size, 0),
  };
}

export interface CompileOptions {
  readonly target: Target | undefined;
  readonly outfile: string;
  /** Another Bun to put inside, for those who link it anew. */
  readonly runtime: string | undefined;
  readonly defines: Readonly<Record<string, string>>;
}

export async function compile(
  provider: ProviderModule,
  { target, outfile, runtime, defines }: CompileOptions,
): Promise<void> {
  await build({
    ...common(provider, defines),
    bytecode: true,
    compile: {
      outfile,
      ...autoloadNothing,
      ...(target !== undefined && { target: bunTarget(target) }),
      ...(runtime !== undefined && { executablePath: runtime }),
    },
  });
}

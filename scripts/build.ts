// Makes one executable per cloud: a virtual entry that imports the program and one provider, and nothing else. The
// argument is a cloud of ours or the path of a provider module that exports what defineProvider made.

import { mkdirSync, statSync } from "node:fs";
import { basename, resolve } from "node:path";
import { BuildError, ccmEverywhere, findModule, readModule } from "./build/provider-module.ts";

const root = resolve(import.meta.dir, "..");
/** npm moves into the repository and says where it was called. */
const from = process.env["INIT_CWD"] ?? process.cwd();
const fail = (text: string): never => {
  process.stderr.write(`${text}\n`);
  process.exit(2);
};

const [wanted, ...rest] = process.argv.slice(2);
if (wanted === undefined || wanted === "--help" || wanted === "-h")
  fail("Usage: npm run build <cloud|path> -- [--target bun-linux-arm64] [--outdir path]");
const optionOf = (name: string): string | undefined => {
  const at = rest.indexOf(name);
  return at === -1 ? undefined : rest[at + 1];
};
const target = optionOf("--target");
const outdir = resolve(from, optionOf("--outdir") ?? resolve(root, "dist"));

const load = async () => readModule(findModule(wanted ?? "", from));
const { path, exportName, name } = await load().catch((error) => {
  if (error instanceof BuildError) return fail(error.message);
  throw error;
});

const git = (...args: string[]): string =>
  Bun.spawnSync(["git", ...args], { cwd: root })
    .stdout.toString()
    .trim();
const { version: released } = (await Bun.file(resolve(root, "package.json")).json()) as {
  readonly version: string;
};
const version = `v${released}+${git("rev-parse", "--short=12", "HEAD") || "unknown"}`;

const entry = resolve(root, "entry.generated.ts");
const platform = target === undefined ? "" : `-${target.replace(/^bun-/, "")}`;
const outfile = resolve(outdir, `${name}-cloud-controller-manager${platform}`);
mkdirSync(outdir, { recursive: true });

const result = await Bun.build({
  entrypoints: [entry],
  files: {
    [entry]: [
      `import { runExecutable } from ${JSON.stringify(resolve(root, "src/app/run.ts"))};`,
      `import { ${exportName} as provider } from ${JSON.stringify(path)};`,
      "void runExecutable(provider as never);",
    ].join("\n"),
  },
  plugins: [ccmEverywhere],
  define: { FAIRLEAD_VERSION: JSON.stringify(version) },
  minify: true,
  bytecode: true,
  format: "esm",
  compile: {
    outfile,
    // An executable must not obey files that happen to lie in its working directory.
    autoloadDotenv: false,
    autoloadBunfig: false,
    ...(target !== undefined && { target: target as never }),
  },
} as Bun.BuildConfig);
for (const log of result.logs) process.stderr.write(`${log}\n`);
if (!result.success) process.exit(1);

const size = statSync(outfile).size;
process.stdout.write(`${basename(outfile)} ${version}: ${(size / 1_000_000).toFixed(1)} MB\n`);

// Makes one executable per cloud: a virtual entry that imports the program and one provider, and nothing else. The
// argument is a cloud of ours or the path of a provider module that exports what defineProvider made.

import { existsSync, mkdirSync, statSync } from "node:fs";
import { basename, resolve } from "node:path";

const root = resolve(import.meta.dir, "..");
const fail = (text: string): never => {
  process.stderr.write(`${text}\n`);
  process.exit(2);
};

const [wanted, ...rest] = process.argv.slice(2);
if (wanted === undefined) fail("Usage: bun run build <cloud|path> [--target bun-linux-arm64]");
const targetAt = rest.indexOf("--target");
const target = targetAt === -1 ? undefined : rest[targetAt + 1];

const builtIn = resolve(root, "providers", wanted ?? "", "index.ts");
const given = resolve(wanted ?? "");
const found = [builtIn, given, resolve(given, "index.ts")].find(
  (path) => existsSync(path) && statSync(path).isFile(),
);
const module = found ?? fail(`There is no provider ${wanted}: looked for ${builtIn} and ${given}.`);

/** By its shape, so that the export may have the cloud's name. */
const exported = Object.entries((await import(module)) as Record<string, unknown>).find(
  ([, value]) => typeof value === "object" && value !== null && "contract" in value && "connect" in value,
);
const [exportName, provider] = exported ?? fail(`${module} exports nothing made by defineProvider.`);
const { name } = provider as { readonly name: string };

const git = (...args: string[]): string =>
  Bun.spawnSync(["git", ...args], { cwd: root })
    .stdout.toString()
    .trim();
const { version: released } = (await Bun.file(resolve(root, "package.json")).json()) as {
  readonly version: string;
};
const version = `v${released}+${git("rev-parse", "--short=12", "HEAD") || "unknown"}`;

const entry = resolve(root, "entry.generated.ts");
const outfile = resolve(
  root,
  "dist",
  `${name}-cloud-controller-manager${target === undefined ? "" : `-${target.replace(/^bun-/, "")}`}`,
);
mkdirSync(resolve(root, "dist"), { recursive: true });

const result = await Bun.build({
  entrypoints: [entry],
  files: {
    [entry]: [
      `import { runExecutable } from ${JSON.stringify(resolve(root, "src/app/run.ts"))};`,
      `import { ${exportName} as provider } from ${JSON.stringify(module)};`,
      "void runExecutable(provider as never);",
    ].join("\n"),
  },
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

// `npm run build`: compiles a provider into one executable per target, with its checksum, its SBOM and the third-party notices.
// The provider is the name of a folder in `providers/` or the path of a module that exports the result of defineProvider.

import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { basename, resolve } from "node:path";
import { compile, findContents } from "./build/compile.ts";
import { packageFolders, readMaterial } from "./build/materials.ts";
import { noticesText } from "./build/notices.ts";
import { BuildError, findModule, readModule } from "./build/provider-module.ts";
import { sbom } from "./build/sbom.ts";
import { startTime } from "./build/start-time.ts";
import { readTarget, type Target, targets } from "./build/targets.ts";

const root = resolve(import.meta.dir, "..");
/** npm changes to the repository and puts the caller's directory into INIT_CWD. */
const from = process.env["INIT_CWD"] ?? process.cwd();

const usage = `Usage: npm run build <provider> -- [options]

Builds <provider>-cloud-controller-manager, with a checksum (.sha256) and an SBOM (.cdx.json).
<provider> is a folder in providers/, such as fake, or the path of a provider module.

  --target <name>    platform to build for, repeatable (default: this one)
                     ${targets.slice(0, 4).join(", ")},
                     ${targets.slice(4).join(", ")}
  --all              build for all platforms
  --outdir <path>    output directory (default: dist)
  --runtime <path>   Bun executable to embed instead of the pinned one
`;

interface BuildOptions {
  readonly wanted: string;
  readonly targets: readonly (Target | undefined)[];
  readonly outdir: string;
  readonly runtime: string | undefined;
}

function readOptions([wanted, ...rest]: readonly string[]): BuildOptions {
  if (wanted === "--help" || wanted === "-h") {
    process.stdout.write(usage);
    process.exit(0);
  }
  if (wanted === undefined || wanted.startsWith("-")) {
    throw new BuildError(`Expected the name or the path of a provider.\n\n${usage}`);
  }
  const chosen: Target[] = [];
  let outdir = resolve(root, "dist");
  let runtime: string | undefined;
  for (let at = 0; at < rest.length; at += 1) {
    const word = rest[at] ?? "";
    const [name, inline] = word.split(/=(.*)/s);
    const value = (): string => {
      const given = inline ?? rest[++at];
      if (given === undefined) throw new BuildError(`${name} requires a value.\n\n${usage}`);
      return given;
    };
    if (name === "--all") chosen.push(...targets);
    else if (name === "--target") chosen.push(...value().split(",").map(readTarget));
    else if (name === "--outdir") outdir = resolve(from, value());
    else if (name === "--runtime") runtime = resolve(from, value());
    else throw new BuildError(`Unknown option ${word}.\n\n${usage}`);
  }
  return { wanted, targets: chosen.length === 0 ? [undefined] : [...new Set(chosen)], outdir, runtime };
}

function git(...args: string[]): string {
  return Bun.spawnSync(["git", ...args], { cwd: root })
    .stdout.toString()
    .trim();
}

/** Marked `.dirty` when the sources differ from the commit. */
function commitOf(): string {
  const commit = git("rev-parse", "HEAD");
  const isDirty = git("status", "--porcelain", "--untracked-files=no") !== "";
  return commit === "" ? "" : `${commit}${isDirty ? ".dirty" : ""}`;
}

function versionOf(released: string, commit: string): string {
  return `v${released}+${commit === "" ? "unknown" : commit.replace(/^(.{12})[0-9a-f]*/, "$1")}`;
}

const print = (text: string): boolean => process.stdout.write(`${text}\n`);

async function build({ wanted, targets: chosen, outdir, runtime }: BuildOptions): Promise<void> {
  const provider = await readModule(findModule(wanted, from));
  const { version: released } = JSON.parse(readFileSync(resolve(root, "package.json"), "utf8")) as {
    readonly version: string;
  };
  const commit = commitOf();
  const version = versionOf(released, commit);
  const contents = await findContents(provider);
  const materials = packageFolders(contents.files).map((folder) => readMaterial(resolve(root, folder)));
  const notices = noticesText(readFileSync(resolve(root, "LICENSE"), "utf8"), Bun.version, materials);
  mkdirSync(outdir, { recursive: true });
  const packages = materials.map(({ name, version }) => `${name} ${version}`).join(", ") || "none";
  print(
    `Building ${provider.name} ${version}: ${contents.files.length} source files, ${(contents.bytes / 1000).toFixed(0)} kB minified; packages: ${packages}; Bun ${Bun.version}`,
  );
  for (const target of chosen) {
    const suffix = target === undefined ? "" : `-${target}`;
    const outfile = resolve(outdir, `${provider.program}${suffix}`);
    await compile(provider, {
      target,
      outfile,
      runtime,
      defines: { FAIRLEAD_VERSION: version, FAIRLEAD_COMMIT: commit, FAIRLEAD_NOTICES: notices },
    });
    const executable = basename(outfile);
    const sha256 = createHash("sha256").update(readFileSync(outfile)).digest("hex");
    writeFileSync(`${outfile}.sha256`, `${sha256}  ${executable}\n`);
    const list = sbom({ executable, version, sha256, bunVersion: Bun.version, materials });
    writeFileSync(`${outfile}.cdx.json`, `${JSON.stringify(list, undefined, 2)}\n`);
    const size = `${(statSync(outfile).size / 1_000_000).toFixed(1)} MB`;
    const start = target === undefined ? `, starts in ${startTime(outfile).toFixed(0)} ms` : "";
    print(`  ${outfile}: ${size}${start}, sha256 ${sha256.slice(0, 12)}…`);
  }
}

try {
  await build(readOptions(process.argv.slice(2)));
} catch (error) {
  if (!(error instanceof BuildError)) throw error;
  process.stderr.write(`${error.message.trimEnd()}\n`);
  process.exit(2);
}

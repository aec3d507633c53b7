// `npm run build`: compiles a provider into one executable per target, with its checksum, its SBOM and the third-party notices.
// The provider is the name of a folder in `providers/` or the path of a module that exports the result of defineProvider.

import { mkdirSync, writeFileSync } from "node:fs";
import { basename, resolve } from "node:path";
import { buildExecutable, prepare } from "./build/executable.ts";
import { BuildError } from "./build/provider-module.ts";
import { readSources } from "./build/sources.ts";
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

const print = (text: string): boolean => process.stdout.write(`${text}\n`);

async function build({ wanted, targets: chosen, outdir, runtime }: BuildOptions): Promise<void> {
  const prepared = await prepare(wanted, from, readSources());
  const { provider, sources, contents, materials } = prepared;
  mkdirSync(outdir, { recursive: true });
  const packages = materials.map(({ name, version }) => `${name} ${version}`).join(", ") || "none";
  print(
    `Building ${provider.name} ${sources.version}: ${contents.files.length} source files, ${(contents.bytes / 1000).toFixed(0)} kB minified; packages: ${packages}; Bun ${Bun.version}`,
  );
  for (const target of chosen) {
    const suffix = target === undefined ? "" : `-${target}`;
    const outfile = resolve(outdir, `${provider.program}${suffix}`);
    const { sha256, bytes } = await buildExecutable(prepared, { target, outfile, runtime });
    writeFileSync(`${outfile}.sha256`, `${sha256}  ${basename(outfile)}\n`);
    const size = `${(bytes / 1_000_000).toFixed(1)} MB`;
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

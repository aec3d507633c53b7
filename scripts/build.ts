// `npm run build`: compiles a provider into one executable per target, with its checksum, its SBOM and the third-party notices.
// The provider is the name of a folder in `providers/` or the path of a module that exports the result of defineProvider.

import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, resolve } from "node:path";
import { programOf } from "../src/provider/program.ts";
import { buildExecutable, prepare } from "./build/executable.ts";
import { plugin } from "./build/plugin.ts";
import { findModule } from "./build/provider-module.ts";
import { readSources } from "./build/sources.ts";
import { startTime } from "./build/start-time.ts";
import { endingOf, pluginTargets, readTarget, type Target, targets } from "./build/targets.ts";
import { commandLine, fail, fromCaller, orFail } from "./command-line.ts";

const root = resolve(import.meta.dir, "..");

const usage = `Usage: npm run build <provider> -- [options]

Builds <provider>-cloud-controller-manager, with a checksum (.sha256) and an SBOM (.cdx.json).
<provider> is a folder in providers/, such as fake, or the path of a provider module. kubectl-fairlead builds the kubectl plugin
with all providers of the repository.

  --target <name>    platform to build for, repeatable (default: this one)
                     ${targets.slice(0, 4).join(", ")},
                     ${targets.slice(4).join(", ")}; for kubectl-fairlead:
                     ${pluginTargets.join(", ")}
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

function readOptions(): BuildOptions {
  const { values, positionals } = commandLine(
    usage,
    {
      target: { type: "string", multiple: true, default: [] },
      all: { type: "boolean", default: false },
      outdir: { type: "string" },
      runtime: { type: "string" },
    },
    1,
  );
  const known = positionals[0] === plugin ? pluginTargets : targets;
  const named = values.target.flatMap((each) => each.split(",")).map((each) => readTarget(each, known));
  const chosen = new Set([...(values.all ? known : []), ...named]);
  return {
    wanted: positionals[0] ?? fail("Expected the name or the path of a provider.", usage),
    targets: chosen.size === 0 ? [undefined] : [...chosen],
    outdir: values.outdir === undefined ? resolve(root, "dist") : fromCaller(values.outdir),
    runtime: values.runtime === undefined ? undefined : fromCaller(values.runtime),
  };
}

const fileName = (program: string, target: Target | undefined): string =>
  target === undefined ? program : `${program}-${target}${endingOf(target)}`;

const print = (text: string): boolean => process.stdout.write(`${text}\n`);

/** Prevents the executable of an earlier build from being mistaken for the result of a failed build. */
function removeEarlier(program: string, { targets: chosen, outdir }: BuildOptions): void {
  for (const target of chosen)
    for (const ending of ["", ".sha256", ".cdx.json"])
      rmSync(resolve(outdir, `${fileName(program, target)}${ending}`), { force: true });
}

async function build(options: BuildOptions): Promise<void> {
  const { wanted, targets: chosen, outdir, runtime } = options;
  // The name in a module is unknown until the module is built; usually it is the name of the folder.
  if (wanted !== plugin)
    removeEarlier(programOf({ name: basename(dirname(findModule(wanted, fromCaller(".")))) }), options);
  const prepared = await prepare(wanted, fromCaller("."), readSources());
  const { provider, sources, contents, materials } = prepared;
  removeEarlier(provider.program, options);
  mkdirSync(outdir, { recursive: true });
  const packages = materials.map(({ name, version }) => `${name} ${version}`).join(", ") || "none";
  print(
    `Building ${provider.name} ${sources.version}: ${contents.files.length} source files, ${(contents.bytes / 1000).toFixed(0)} kB minified; packages: ${packages}; Bun ${Bun.version}`,
  );
  for (const target of chosen) {
    const outfile = resolve(outdir, fileName(provider.program, target));
    const { sha256, bytes } = await buildExecutable(prepared, { target, outfile, runtime });
    writeFileSync(`${outfile}.sha256`, `${sha256}  ${basename(outfile)}\n`);
    const size = `${(bytes / 1_000_000).toFixed(1)} MB`;
    const start = target === undefined ? `, starts in ${startTime(outfile).toFixed(0)} ms` : "";
    print(`  ${outfile}: ${size}${start}, sha256 ${sha256.slice(0, 12)}…`);
  }
}

await build(orFail(readOptions)).catch(fail);

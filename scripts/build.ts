// Makes one executable per cloud and target, with sums, a list of what is inside and the notices of others compiled in.
// The argument is a cloud of ours or the path of a provider module that exports what defineProvider made.

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
/** npm moves into the repository and says where it was called. */
const from = process.env["INIT_CWD"] ?? process.cwd();

const usage = `Usage: npm run build <cloud|path> -- [options]
  --target <name>    make it for another machine than this one; may be given several times
                     ${targets.slice(0, 4).join(", ")},
                     ${targets.slice(4).join(", ")}
  --all              make it for all of them
  --outdir <path>    where the files go (dist)
  --runtime <path>   a Bun of your own to put inside
`;

interface Order {
  readonly wanted: string;
  readonly targets: readonly (Target | undefined)[];
  readonly outdir: string;
  readonly runtime: string | undefined;
}

function readOrder([wanted, ...rest]: readonly string[]): Order {
  if (wanted === "--help" || wanted === "-h") {
    process.stdout.write(usage);
    process.exit(0);
  }
  if (wanted === undefined || wanted.startsWith("-")) throw new BuildError(usage);
  const chosen: Target[] = [];
  let outdir = resolve(root, "dist");
  let runtime: string | undefined;
  for (let at = 0; at < rest.length; at += 1) {
    const word = rest[at] ?? "";
    const [name, inline] = word.split(/=(.*)/s);
    const value = (): string => {
      const given = inline ?? rest[++at];
      if (given === undefined) throw new BuildError(`${name} wants a value.\n${usage}`);
      return given;
    };
    if (name === "--all") chosen.push(...targets);
    else if (name === "--target") chosen.push(...value().split(",").map(readTarget));
    else if (name === "--outdir") outdir = resolve(from, value());
    else if (name === "--runtime") runtime = resolve(from, value());
    else throw new BuildError(`${word} is not an option.\n${usage}`);
  }
  return { wanted, targets: chosen.length === 0 ? [undefined] : [...new Set(chosen)], outdir, runtime };
}

function git(...args: string[]): string {
  return Bun.spawnSync(["git", ...args], { cwd: root })
    .stdout.toString()
    .trim();
}

/** A file made from sources that no commit has must not pass for that commit. */
function commitOf(): string {
  const commit = git("rev-parse", "HEAD");
  const isDirty = git("status", "--porcelain", "--untracked-files=no") !== "";
  return commit === "" ? "" : `${commit}${isDirty ? ".dirty" : ""}`;
}

function versionOf(released: string, commit: string): string {
  return `v${released}+${commit === "" ? "unknown" : commit.replace(/^(.{12})[0-9a-f]*/, "$1")}`;
}

const say = (text: string): boolean => process.stdout.write(`${text}\n`);

async function make({ wanted, targets: chosen, outdir, runtime }: Order): Promise<void> {
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
  const inside = materials.map((each) => `${each.name} ${each.version}`).join(", ") || "no packages";
  say(
    `${provider.name} ${version}: ${contents.files.length} source files, ${(contents.bytes / 1000).toFixed(0)} kB minified, with ${inside}, on Bun ${Bun.version}`,
  );
  for (const target of chosen) {
    const suffix = target === undefined ? "" : `-${target}`;
    const outfile = resolve(outdir, `${provider.name}-cloud-controller-manager${suffix}`);
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
    say(`  ${executable}  ${size}${start}, sha256 ${sha256.slice(0, 12)}…`);
  }
}

try {
  await make(readOrder(process.argv.slice(2)));
} catch (error) {
  if (!(error instanceof BuildError)) throw error;
  process.stderr.write(`${error.message.trimEnd()}\n`);
  process.exit(2);
}

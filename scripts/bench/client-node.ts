// Measures what importing @kubernetes/client-node costs an executable in size, start time and memory. Decision 0003 refers to
// these figures.

import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { keepFolder, startProcess } from "../../test/cluster/rig/kept-process.ts";
import { autoloadNothing, bundleOptions } from "../build/compile.ts";
import { startTimes } from "../build/start-time.ts";
import { type ResidentMemory, readResidentMemory } from "./resident-memory.ts";
import { type Columns, decimal, type Section, sectionOf } from "./section.ts";

export interface ImportRun {
  readonly server: string;
  readonly what: string;
  readonly bytes: number;
  readonly starts: readonly number[];
  readonly memory: ResidentMemory;
}

const client = "@kubernetes/client-node";
/** Each import is kept in a global variable, so that the bundler does not remove it. */
export const imports = {
  nothing: "",
  KubeConfig: `import { KubeConfig } from "${client}"; globalThis.kept = new KubeConfig();`,
  "KubeConfig, CoreV1Api and Watch": `import { CoreV1Api, KubeConfig, Watch } from "${client}"; globalThis.kept = [KubeConfig, CoreV1Api, Watch];`,
} as const;

const root = resolve(import.meta.dir, "../..");
const runs = 31;
const idleMs = 3000;

const columns: Columns<ImportRun> = [
  ["Imports", ({ what }) => what],
  ["MB", ({ bytes }) => decimal(bytes / 1e6, 1)],
  ["Start ms, fastest", ({ starts }) => decimal(starts[0], 1)],
  ["Median", ({ starts }) => decimal(starts[Math.floor(runs / 2)], 1)],
  ["Idle RSS MiB", ({ memory }) => decimal(memory.totalMiB, 1)],
  ["of it private", ({ memory }) => decimal(memory.ownMiB, 1)],
];

export async function measureImport(what: keyof typeof imports): Promise<ImportRun> {
  const folder = mkdtempSync(join(tmpdir(), "fairlead-bench-"));
  keepFolder(folder);
  const executable = join(folder, "imports");
  const entry = join(root, "entry.generated.ts");
  const program = 'if (process.argv[2] === "--version") process.exit(0); setInterval(() => undefined, 1000);';
  await Bun.build({
    ...bundleOptions,
    entrypoints: [entry],
    files: { [entry]: `${imports[what]}\n${program}` },
    bytecode: true,
    compile: { outfile: executable, ...autoloadNothing },
  } as Bun.BuildConfig);
  const process = startProcess([executable], { cwd: folder });
  try {
    await Bun.sleep(idleMs);
    const memory = readResidentMemory(readFileSync(`/proc/${process.pid}/smaps`, "utf8"), executable);
    const starts = startTimes(executable, runs);
    return { server: "none", what, bytes: statSync(executable).size, starts, memory };
  } finally {
    await process.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

export function importSection(each: readonly ImportRun[]): Section {
  return sectionOf(`An executable that imports ${client}`, columns, each);
}

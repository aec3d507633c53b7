// Measures what the official client would cost an executable that imports it: size, time to start, memory at rest. It is
// the figure behind decision 0003; nothing of ours imports that client outside of tests.

import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { keepFolder, startProcess } from "../../test/cluster/rig/kept-process.ts";
import { autoloadNothing, bundleOptions } from "../build/compile.ts";
import { startTimes } from "../build/start-time.ts";
import { type ResidentMemory, readResidentMemory } from "./resident-memory.ts";
import { type Section, sectionOf } from "./section.ts";
import { type Columns, decimal } from "./table.ts";

export interface ImportRun {
  readonly server: string;
  readonly what: string;
  readonly bytes: number;
  readonly starts: readonly number[];
  readonly memory: ResidentMemory;
}

const client = "@kubernetes/client-node";
/** What each keeps, so that the bundler leaves nothing out that is used. */
export const imports = {
  nothing: "",
  "its reader of kubeconfigs": `import { KubeConfig } from "${client}"; globalThis.kept = new KubeConfig();`,
  "that, a typed client and a watch": `import { CoreV1Api, KubeConfig, Watch } from "${client}"; globalThis.kept = [KubeConfig, CoreV1Api, Watch];`,
} as const;

const root = resolve(import.meta.dir, "../..");
const runs = 31;
const restMs = 3000;

const columns: Columns<ImportRun> = [
  ["Imported", ({ what }) => what],
  ["MB", ({ bytes }) => decimal(bytes / 1e6, 1)],
  ["start ms, fastest", ({ starts }) => decimal(starts[0], 1)],
  ["median", ({ starts }) => decimal(starts[Math.floor(runs / 2)], 1)],
  ["RSS MiB at rest", ({ memory }) => decimal(memory.totalMiB, 1)],
  ["of it the process's own", ({ memory }) => decimal(memory.ownMiB, 1)],
];

export async function measureImport(what: keyof typeof imports): Promise<ImportRun> {
  const folder = mkdtempSync(join(tmpdir(), "fairlead-bench-"));
  keepFolder(folder);
  const executable = join(folder, "imports");
  const entry = join(root, "entry.generated.ts");
  const rest = 'if (process.argv[2] === "--version") process.exit(0); setInterval(() => undefined, 1000);';
  await Bun.build({
    ...bundleOptions,
    entrypoints: [entry],
    files: { [entry]: `${imports[what]}\n${rest}` },
    bytecode: true,
    compile: { outfile: executable, ...autoloadNothing },
  } as Bun.BuildConfig);
  const process = startProcess([executable], { cwd: folder });
  try {
    await Bun.sleep(restMs);
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

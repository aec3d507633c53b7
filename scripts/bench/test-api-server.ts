// The sandbox as the API server of a measurement, in a process of its own, so that it takes no turns from those who
// measure. It ends with us, however we end.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { keepFolder, startProcess } from "../../test/cluster/rig/kept-process.ts";
import { until } from "../../test/cluster/rig/until.ts";
import type { BenchServer } from "./bench-server.ts";

export async function startTestApiServer(): Promise<BenchServer> {
  const folder = mkdtempSync(join(tmpdir(), "fairlead-bench-"));
  keepFolder(folder);
  const kubeconfigPath = join(folder, "kubeconfig");
  const sandbox = startProcess([
    process.execPath,
    join(import.meta.dir, "sandbox-process.ts"),
    kubeconfigPath,
  ]);
  const stop = async (): Promise<void> => {
    await sandbox.stop();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await until(
      "the sandbox to serve",
      () => {
        if (sandbox.exitCode() !== null) throw new Error(`The sandbox ended with ${sandbox.exitCode()}.`);
        return sandbox.output().includes("serves");
      },
      { explain: sandbox.output },
    );
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    name: "sandbox (KUBEBUILDER_ASSETS is not set)",
    kubeconfigPath,
    writes: () => Promise.resolve(undefined),
    stop,
  };
}

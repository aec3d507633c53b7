// What every measurement needs: an API server, a simulated cloud on loopback, a copy of the executable in a folder of its
// own, a wait that ends with the manager, and everything gone afterwards.

import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { FakeCloud } from "../../providers/fake/simulator/fake-cloud.ts";
import { serveFakeCloud } from "../../providers/fake/simulator/http.ts";
import { milliseconds } from "../../src/core/brand.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { type KeptProcess, keepFolder, startProcess } from "../../test/cluster/rig/kept-process.ts";
import { type UntilOptions, until } from "../../test/cluster/rig/until.ts";
import { connect } from "../../test/kube/cluster/connect.ts";
import { startBenchServer } from "./api-server.ts";

export interface BenchOptions {
  readonly cloudLatencyMs: number;
  readonly actionMs: number;
  readonly flags: readonly string[];
  /** Another manager to measure in our place; ours unless told. */
  readonly executable: string | undefined;
}

const executableName = "fake-cloud-controller-manager";
export const builtExecutable: string = resolve(import.meta.dir, "../../dist", executableName);

export async function openBench({ cloudLatencyMs, actionMs, flags, executable }: BenchOptions) {
  const server = await startBenchServer();
  const folder = mkdtempSync(join(tmpdir(), "fairlead-bench-"));
  keepFolder(folder);
  const cloud = new FakeCloud({
    clock: systemClock,
    latency: milliseconds(cloudLatencyMs),
    actionTime: milliseconds(actionMs),
  });
  const served = serveFakeCloud(cloud, 0);
  const copy = join(folder, executableName);
  copyFileSync(executable ?? builtExecutable, copy);
  const running: KeptProcess[] = [];
  const stop = new AbortController();
  return {
    serverName: server.name,
    writes: server.writes,
    executable: copy,
    cloud,
    api: await connect(server.kubeconfigPath),
    /** Aborted at the end: for what follows along. */
    signal: stop.signal,
    start: (...more: readonly string[]): KeptProcess => {
      const given = [
        `--kubeconfig=${server.kubeconfigPath}`,
        `--config-set=endpoint=${served.url}`,
        // Several run on one machine.
        "--secure-port=0",
      ];
      const process = startProcess([copy, ...given, ...flags, ...more], { cwd: folder });
      running.push(process);
      return process;
    },
    async [Symbol.asyncDispose](): Promise<void> {
      stop.abort();
      for (const process of running) await process.stop();
      await served[Symbol.asyncDispose]();
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export type Bench = Awaited<ReturnType<typeof openBench>>;

/** Waits for something that a manager does, and no longer than the manager lives. */
export async function untilDone(
  manager: KeptProcess,
  what: string,
  probe: () => boolean | Promise<boolean>,
  options: UntilOptions = {},
): Promise<void> {
  const said = (): string => manager.output().slice(-3000);
  const ended = manager.exited.then((code) => {
    throw new Error(`The manager ended with ${code} before ${what}.\n${said()}`);
  });
  await Promise.race([until(what, probe, { explain: said, ...options }), ended]);
}

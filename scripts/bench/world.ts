// The environment of a benchmark: an API server, a simulated cloud on loopback, and the executable in a temporary folder.

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
  /** The executable to measure; undefined for the one in dist/. */
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
    /** Aborted when the benchmark ends. */
    signal: stop.signal,
    start: (...more: readonly string[]): KeptProcess => {
      const given = [
        `--kubeconfig=${server.kubeconfigPath}`,
        `--config-set=endpoint=${served.url}`,
        // Several may run on one machine.
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

/** Waits for something that the manager does; throws when the manager exits first. */
export async function untilDone(
  manager: KeptProcess,
  what: string,
  probe: () => boolean | Promise<boolean>,
  options: UntilOptions = {},
): Promise<void> {
  const lastOutput = (): string => manager.output().slice(-3000);
  const ended = manager.exited.then((code) => {
    throw new Error(`The manager exited with ${code} before ${what}.\n${lastOutput()}`);
  });
  await Promise.race([until(what, probe, { explain: lastOutput, ...options }), ended]);
}

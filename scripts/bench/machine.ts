// Describes the machine and the executable of a benchmark.

import { cpus, loadavg, totalmem } from "node:os";

const memory = (): string => `${(totalmem() / 2 ** 30).toFixed(0)} GiB`;

export function describeMachine(): string {
  const processors = cpus();
  const model = processors[0]?.model.trim() ?? "unknown processor";
  return `${processors.length} × ${model}, ${memory()}, ${process.platform}, Bun ${Bun.version}`;
}

/** The class of the machine, for the note of a chart. */
export const machineClass = (): string => `${cpus().length} cores, ${memory()}`;

/** The load average of the last minute. Above 0.5, other processes disturb the benchmark. */
export const describeLoad = (): string => (loadavg()[0] ?? Number.NaN).toFixed(2);

/** The version, with the commit from which the executable was built. */
export function describeExecutable(path: string): string {
  const { exitCode, stdout } = Bun.spawnSync([path, "--version"], { env: {}, stdin: "ignore" });
  if (exitCode !== 0)
    throw new Error(`${path} --version exited with ${exitCode}. Is it a Fairlead executable?`);
  return stdout
    .toString()
    .trim()
    .replace(/^\S+-cloud-controller-manager/, "Fairlead");
}

// What a figure was measured on, and what: without it no figure can be compared. Read once, at the start.

import { cpus, loadavg, release, totalmem } from "node:os";

export function describeMachine(): string {
  const processors = cpus();
  const model = processors[0]?.model.trim() ?? "unknown processor";
  return `${processors.length} × ${model}, ${(totalmem() / 2 ** 30).toFixed(0)} GiB, ${process.platform} ${release()}, Bun ${Bun.version}`;
}

/** Processes that ran or waited for a turn in the last minute, before we began: above 0.5 somebody else was at work. */
export const describeLoad = (): string => (loadavg()[0] ?? Number.NaN).toFixed(2);

/** As the executable says it: the commit it was built from, which need not be the one that is checked out. */
export function describeExecutable(path: string): string {
  const { exitCode, stdout } = Bun.spawnSync([path, "--version"], { env: {}, stdin: "ignore" });
  if (exitCode !== 0)
    throw new Error(`${path} --version ended with ${exitCode}; is it an executable of ours?`);
  return stdout.toString().trim();
}

// Starts processes that cannot outlive this one: a keeper process kills them when this process is gone. The end of their output
// is kept for messages and assertions.

import { processStart } from "./process-start.ts";
import { until } from "./until.ts";

export interface KeptProcess {
  readonly pid: number;
  /** The end of standard output and standard error. */
  readonly output: () => string;
  readonly exited: Promise<number>;
  readonly exitCode: () => number | null;
  signal(name: NodeJS.Signals): void;
  /** SIGTERM, and SIGKILL after the grace. */
  stop(graceSeconds?: number): Promise<number>;
}

export interface ProcessOptions {
  readonly cwd?: string;
  /** The whole environment, besides PATH and HOME. */
  readonly env?: Readonly<Record<string, string>>;
  /** Called with each chunk of output. */
  readonly onOutput?: (text: string) => void;
}

const maxOutput = 4_000_000;
let keeper: Bun.Subprocess<"pipe", "ignore", "ignore"> | undefined;

const sendToKeeper = (line: string): void => {
  keeper ??= Bun.spawn([process.execPath, `${import.meta.dir}/keeper.ts`], {
    stdin: "pipe",
    stdout: "ignore",
    stderr: "ignore",
    // Not in this process group, so that killing the group does not kill the keeper.
    detached: true,
  });
  keeper.unref();
  keeper.stdin.write(`${line}\n`);
  void keeper.stdin.flush();
};

/** Removes the folder when this process is gone. */
export const keepFolder = (path: string): void => sendToKeeper(`folder ${path}`);

export const startProcess = (command: readonly string[], options: ProcessOptions = {}): KeptProcess => {
  const { cwd, env = {}, onOutput } = options;
  const child = Bun.spawn([...command], {
    ...(cwd !== undefined && { cwd }),
    env: { PATH: process.env["PATH"] ?? "", HOME: process.env["HOME"] ?? "/", ...env },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    detached: true,
  });
  sendToKeeper(`keep ${child.pid} ${processStart(child.pid) ?? ""}`);
  let text = "";
  const read = async (stream: ReadableStream<Uint8Array>): Promise<void> => {
    const decoder = new TextDecoder();
    for await (const part of stream) {
      const more = decoder.decode(part, { stream: true });
      text = (text + more).slice(-maxOutput);
      onOutput?.(more);
    }
  };
  const reading = Promise.all([read(child.stdout), read(child.stderr)]);
  const exited = child.exited.then(async (code) => {
    sendToKeeper(`forget ${child.pid}`);
    await reading;
    return code;
  });
  const isRunning = (): boolean => child.exitCode === null && child.signalCode === null;
  const signal = (name: NodeJS.Signals): void => {
    if (isRunning()) child.kill(name);
  };
  return {
    pid: child.pid,
    output: () => text,
    exited,
    exitCode: () => child.exitCode,
    signal,
    stop: async (graceSeconds = 10) => {
      signal("SIGTERM");
      await until(`process ${child.pid} to exit`, () => !isRunning(), { seconds: graceSeconds }).catch(() =>
        signal("SIGKILL"),
      );
      return exited;
    },
  };
};

// Starts a process that cannot outlive this one: its id goes to a keeper, which ends it when we are gone, however we went.
// What it writes is kept, the newest part of it, for messages and assertions.

import { processStart } from "./process-start.ts";
import { until } from "./until.ts";

export interface KeptProcess {
  readonly pid: number;
  /** Standard output and standard error, as far as they fit. */
  readonly output: () => string;
  readonly exited: Promise<number>;
  readonly exitCode: () => number | null;
  signal(name: NodeJS.Signals): void;
  /** SIGTERM, and SIGKILL after the grace. */
  stop(graceSeconds?: number): Promise<number>;
}

export interface ProcessOptions {
  readonly cwd?: string;
  /** Nothing else of the environment is passed on. */
  readonly env?: Readonly<Record<string, string>>;
  /** Called with each part of the output as it comes. */
  readonly onOutput?: (text: string) => void;
}

const mostOutput = 4_000_000;
let keeper: Bun.Subprocess<"pipe", "ignore", "ignore"> | undefined;

const tellKeeper = (line: string): void => {
  keeper ??= Bun.spawn([process.execPath, `${import.meta.dir}/keeper.ts`], {
    stdin: "pipe",
    stdout: "ignore",
    stderr: "ignore",
    // Not in our process group: whoever ends the group must not end the one who clears up.
    detached: true,
  });
  keeper.unref();
  keeper.stdin.write(`${line}\n`);
  void keeper.stdin.flush();
};

/** Removed when this process is gone. */
export const keepFolder = (path: string): void => tellKeeper(`folder ${path}`);

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
  tellKeeper(`keep ${child.pid} ${processStart(child.pid) ?? ""}`);
  let text = "";
  const read = async (stream: ReadableStream<Uint8Array>): Promise<void> => {
    const decoder = new TextDecoder();
    for await (const part of stream) {
      const more = decoder.decode(part, { stream: true });
      text = (text + more).slice(-mostOutput);
      onOutput?.(more);
    }
  };
  const reading = Promise.all([read(child.stdout), read(child.stderr)]);
  const exited = child.exited.then(async (code) => {
    tellKeeper(`forget ${child.pid}`);
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
      await until(`process ${child.pid} to end`, () => !isRunning(), { seconds: graceSeconds }).catch(() =>
        signal("SIGKILL"),
      );
      return exited;
    },
  };
};

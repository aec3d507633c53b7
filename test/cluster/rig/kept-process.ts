// Starts processes that cannot outlive this one: a keeper process kills them when this process is gone. The end of their output
// is kept for messages and assertions.

import { defined } from "../../../src/core/defined.ts";
import { processStart } from "./process-start.ts";
import { until } from "./until.ts";

export interface ProcessOptions {
  readonly cwd?: string;
  /** The whole environment, in addition to PATH and HOME. */
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
    // In a different process group, so that killing the group does not kill the keeper.
    detached: true,
  });
  keeper.unref();
  keeper.stdin.write(`${line}\n`);
  void keeper.stdin.flush();
};

/** Removes the folder when this process is gone. */
export const keepFolder = (path: string): void => sendToKeeper(`folder ${path}`);

export class KeptProcess {
  readonly pid: number;
  /** Resolves with the exit code once all output has been read. */
  readonly exited: Promise<number>;
  readonly #child: Bun.Subprocess<"ignore", "pipe", "pipe">;
  readonly #onOutput: ((text: string) => void) | undefined;
  #output = "";

  constructor(command: readonly string[], { cwd, env = {}, onOutput }: ProcessOptions = {}) {
    this.#onOutput = onOutput;
    this.#child = Bun.spawn([...command], {
      ...defined({ cwd }),
      env: { PATH: process.env["PATH"] ?? "", HOME: process.env["HOME"] ?? "/", ...env },
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
      detached: true,
    });
    this.pid = this.#child.pid;
    sendToKeeper(`keep ${this.pid} ${processStart(this.pid) ?? ""}`);
    this.exited = this.#untilExit();
  }

  /** The end of standard output and standard error. */
  output(): string {
    return this.#output;
  }

  /** Null while the process runs. */
  exitCode(): number | null {
    return this.#child.exitCode;
  }

  signal(name: NodeJS.Signals): void {
    if (this.#isRunning()) this.#child.kill(name);
  }

  /** Sends SIGTERM, and SIGKILL after the grace period. */
  async stop(graceSeconds = 10): Promise<number> {
    this.signal("SIGTERM");
    await until(`process ${this.pid} to exit`, () => !this.#isRunning(), { seconds: graceSeconds }).catch(
      () => this.signal("SIGKILL"),
    );
    return this.exited;
  }

  #isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  async #untilExit(): Promise<number> {
    const reading = Promise.all([this.#read(this.#child.stdout), this.#read(this.#child.stderr)]);
    const code = await this.#child.exited;
    sendToKeeper(`forget ${this.pid}`);
    await reading;
    return code;
  }

  async #read(stream: ReadableStream<Uint8Array>): Promise<void> {
    const decoder = new TextDecoder();
    for await (const chunk of stream) {
      const text = decoder.decode(chunk, { stream: true });
      this.#output = (this.#output + text).slice(-maxOutput);
      this.#onOutput?.(text);
    }
  }
}

export const startProcess = (command: readonly string[], options?: ProcessOptions): KeptProcess =>
  new KeptProcess(command, options);

// The signals, uncaught errors, output, exit code and root folder of the process.

import { existsSync } from "node:fs";
import { isatty } from "node:tty";
import { type Milliseconds, milliseconds } from "../core/brand.ts";

export interface SystemProcess {
  readonly pid: number;
  /** Resolves when all of the text is written. */
  readonly stdout: (text: string) => Promise<unknown>;
  readonly stderr: (text: string) => void;
  readonly exit: (code: number) => never;
}

export interface SignalHandlers {
  /** The first SIGTERM or SIGINT. A second signal ends the process immediately, with 128 plus the signal's number. */
  readonly stop: (signal: string) => void;
  /** Called on each SIGHUP. */
  readonly reload: () => void;
  /** An uncaught error. The process then exits with code 1. */
  readonly uncaught: (error: unknown) => void;
  /**
   * A rejected promise that no code handles. Returns whether the process continues; otherwise the rejection is an uncaught error.
   */
  readonly unhandled: (error: unknown) => boolean;
}

/** Opens the stream for the first line, because opening takes longer than all other work of `--version`. */
class LazyStderr {
  #stream: NodeJS.WriteStream | undefined;

  write(text: string): void {
    if (this.#stream === undefined) {
      this.#stream = process.stderr;
      // A full disk or a closed pipe loses lines, but does not end the manager.
      this.#stream.on("error", () => undefined);
    }
    this.#stream.write(text);
  }
}

/** Linux resolves this path even if an update has replaced the file. */
const ownFile = "/proc/self/exe";

/**
 * Restarts the executable in the same process, with the same id, files and arguments, and with a variable that the runtime reads
 * only when it starts. Has no effect if the variable is set, on Windows, when the program runs from its sources, or where the
 * system refuses (an emulator of another processor, a sandbox): the program then uses more memory.
 */
export function restartWith({ name, value }: { readonly name: string; readonly value: string }): void {
  const isExecutable = Bun.main.startsWith("/$bunfs/");
  if (process.env[name] !== undefined || !isExecutable || process.execve === undefined) return;
  const file = existsSync(ownFile) ? ownFile : process.execPath;
  try {
    process.execve(file, [process.argv0, ...process.argv.slice(2)], { ...process.env, [name]: value });
  } catch {}
}

const numbers = { SIGTERM: 15, SIGINT: 2 } as const;

export function onSignals({ stop, reload, uncaught, unhandled }: SignalHandlers): SystemProcess {
  const lines = new LazyStderr();
  let first: StopSignal | undefined;
  for (const [name, number] of Object.entries(numbers)) {
    process.on(name, () => {
      const signal = { name, at: milliseconds(performance.now()) };
      const decision = decideStop(first, signal);
      if (decision === "exit") process.exit(128 + number);
      if (decision === "ignore") return;
      first = signal;
      stop(name);
    });
  }
  process.on("SIGHUP", reload);
  const onUncaught = (error: unknown) => {
    uncaught(error);
    process.exit(1);
  };
  process.on("uncaughtException", onUncaught);
  process.on("unhandledRejection", (error) => unhandled(error) || onUncaught(error));
  return {
    pid: process.pid,
    stdout: (text) => Bun.write(Bun.stdout, text),
    stderr: (text) => lines.write(text),
    exit: (code) => process.exit(code),
  };
}

/** Everything that is piped into the program. */
export const systemStdin = (): Promise<string> => Bun.stdin.text();

/** Reads a line that the user types; undefined if stdin is not a terminal. */
export function terminalLine(): (() => Promise<string>) | undefined {
  if (!isatty(0)) return undefined;
  return async () => {
    for await (const line of console) return line;
    return "";
  };
}

export interface StopSignal {
  readonly name: string;
  readonly at: Milliseconds;
}

const duplicateWindow = milliseconds(200);

/**
 * Decides how to react to a stop signal. `timeout` and similar programs signal both the process and its group, so the same signal
 * twice within moments counts once. A later or different signal ends the process immediately.
 */
export function decideStop(first: StopSignal | undefined, signal: StopSignal): "stop" | "ignore" | "exit" {
  if (first === undefined) return "stop";
  const isDuplicate = signal.name === first.name && signal.at - first.at < duplicateWindow;
  return isDuplicate ? "ignore" : "exit";
}

/**
 * Makes another folder the root of this process (chroot) through the C library, because the runtime has no such function. From
 * then on, this process and the programs that it starts see the files below the folder. Rejects with the missing requirement,
 * without having changed anything. Requires the capability SYS_CHROOT.
 */
export async function changeRoot(folder: string): Promise<void> {
  const { dlopen, FFIType } = await import("bun:ffi");
  const library = dlopen("libc.so.6", { chroot: { args: [FFIType.cstring], returns: FFIType.i32 } });
  try {
    if (library.symbols.chroot(Buffer.from(`${folder}\0`)) !== 0)
      throw new Error(
        `${folder} cannot become the root folder: it does not exist, or the capability SYS_CHROOT is missing`,
      );
  } finally {
    library.close();
  }
  process.chdir("/");
}

// The process as the operating system sees it: signals and accidents in, text and an exit code out.

import { milliseconds } from "../core/brand.ts";
import { decideStop, type StopSignal } from "./stop-signals.ts";

export interface SystemProcess {
  readonly pid: number;
  /** Whole, before the promise is kept. */
  readonly stdout: (text: string) => Promise<unknown>;
  readonly stderr: (text: string) => void;
  readonly exit: (code: number) => never;
}

export interface SignalHandlers {
  /** The first SIGTERM or SIGINT. Another one ends the process at once, with 128 and the signal's number. */
  readonly stop: (signal: string) => void;
  /** Each SIGHUP. */
  readonly reload: () => void;
  /** An error that nobody caught: said in one line, and the process ends with 1. */
  readonly accident: (error: unknown) => void;
}

/** The stream is made at the first line: that takes longer than all that `--version` has to do. */
function createLines(): (text: string) => void {
  let stream: NodeJS.WriteStream | undefined;
  return (text) => {
    if (stream === undefined) {
      stream = process.stderr;
      // A full disk, or nobody reading, takes the lines and not the manager.
      stream.on("error", () => undefined);
    }
    stream.write(text);
  };
}

const numbers = { SIGTERM: 15, SIGINT: 2 } as const;

export function onSignals({ stop, reload, accident }: SignalHandlers): SystemProcess {
  let first: StopSignal | undefined;
  for (const [name, number] of Object.entries(numbers)) {
    process.on(name, () => {
      const signal = { name, at: milliseconds(performance.now()) };
      const decision = decideStop(first, signal);
      if (decision === "end at once") process.exit(128 + number);
      if (decision === "ignore") return;
      first = signal;
      stop(name);
    });
  }
  process.on("SIGHUP", reload);
  const onAccident = (error: unknown) => {
    accident(error);
    process.exit(1);
  };
  process.on("uncaughtException", onAccident);
  process.on("unhandledRejection", onAccident);
  return {
    pid: process.pid,
    stdout: (text) => Bun.write(Bun.stdout, text),
    stderr: createLines(),
    exit: (code) => process.exit(code),
  };
}

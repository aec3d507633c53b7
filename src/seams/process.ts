// The process as the operating system sees it: signals and accidents in, text and an exit code out.

export interface SystemProcess {
  readonly pid: number;
  readonly stdout: (text: string) => void;
  readonly stderr: (text: string) => void;
  readonly exit: (code: number) => never;
}

export interface SignalHandlers {
  /** The first SIGTERM or SIGINT. A second one ends the process at once, with 128 and the signal's number. */
  readonly stop: (signal: string) => void;
  /** Each SIGHUP. */
  readonly reload: () => void;
  /** An error that nobody caught: said in one line, and the process ends with 1. */
  readonly accident: (error: unknown) => void;
}

const numbers = { SIGTERM: 15, SIGINT: 2 } as const;

export const onSignals = ({ stop, reload, accident }: SignalHandlers): SystemProcess => {
  let isStopping = false;
  for (const [name, number] of Object.entries(numbers)) {
    process.on(name, () => {
      if (isStopping) process.exit(128 + number);
      isStopping = true;
      stop(name);
    });
  }
  process.on("SIGHUP", reload);
  // A full disk, or nobody reading, takes the lines and not the manager.
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => undefined);
  const onAccident = (error: unknown) => {
    accident(error);
    process.exit(1);
  };
  process.on("uncaughtException", onAccident);
  process.on("unhandledRejection", onAccident);
  return {
    pid: process.pid,
    stdout: (text) => process.stdout.write(text),
    stderr: (text) => process.stderr.write(text),
    exit: (code) => process.exit(code),
  };
};

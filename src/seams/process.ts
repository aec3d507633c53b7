// The process as the operating system sees it: signals in, text and an exit code out.

export interface SystemProcess {
  readonly stdout: (text: string) => void;
  readonly stderr: (text: string) => void;
  readonly exit: (code: number) => never;
}

/** The first SIGTERM or SIGINT calls back; a second one ends the process at once. */
export const onSignals = (stop: () => void): SystemProcess => {
  let isStopping = false;
  const onSignal = () => {
    if (isStopping) process.exit(1);
    isStopping = true;
    stop();
  };
  process.on("SIGTERM", onSignal);
  process.on("SIGINT", onSignal);
  return {
    stdout: (text) => process.stdout.write(text),
    stderr: (text) => process.stderr.write(text),
    exit: (code) => process.exit(code),
  };
};

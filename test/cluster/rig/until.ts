// Polls until a condition holds. The error names the missing condition. The deadline only ends a test that
// would wait forever, so it is long, because the machine may be busy.

export interface UntilOptions {
  readonly seconds?: number;
  readonly everyMs?: number;
  /** Text that is added to the error, such as the log of the process. */
  readonly explain?: () => string;
}

/** Returns the first result that is neither undefined nor false. Errors of the probe count as "not yet". */
export const until = async <T>(
  what: string,
  probe: () => T | undefined | false | Promise<T | undefined | false>,
  { seconds = 300, everyMs = 25, explain = () => "" }: UntilOptions = {},
): Promise<T> => {
  const deadline = performance.now() + seconds * 1000;
  let last: unknown;
  for (;;) {
    try {
      const answer = await probe();
      if (answer !== undefined && answer !== false) return answer;
      last = undefined;
    } catch (error) {
      last = error;
    }
    if (performance.now() > deadline) break;
    await Bun.sleep(everyMs);
  }
  throw new Error(
    `Timed out after ${seconds}s waiting for ${what}.${last === undefined ? "" : ` ${String(last)}`}\n${explain()}`,
  );
};

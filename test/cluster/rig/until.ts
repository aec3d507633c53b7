// Waits for something to become true by asking again and again, up to a deadline, and says what was missing when it does not.
// Nothing in the cluster tests waits in any other way.

export interface UntilOptions {
  readonly seconds?: number;
  readonly everyMs?: number;
  /** More to read when the deadline passes: the log of the process that did not do it. */
  readonly explain?: () => string;
}

/** The first answer that is neither undefined nor false. An error of the probe is one more "not yet". */
export const until = async <T>(
  what: string,
  probe: () => T | undefined | false | Promise<T | undefined | false>,
  { seconds = 60, everyMs = 25, explain = () => "" }: UntilOptions = {},
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
    `Waited ${seconds} s for ${what}.${last === undefined ? "" : ` ${String(last)}`}\n${explain()}`,
  );
};

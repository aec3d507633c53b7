// Stands where you have to write. Delete this file when nothing imports it any more.

export function unwritten(file: string, section: string): never {
  // Many tests end here at first; where it was thrown is the same for all, so each takes a line.
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = 0;
  const error = new Error(
    `${file} is not written yet: see "${section}" in docs/write-a-provider.md of Fairlead.`,
  );
  Error.stackTraceLimit = limit;
  throw error;
}

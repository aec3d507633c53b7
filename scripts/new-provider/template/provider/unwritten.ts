// A placeholder for missing code. Delete this file when nothing imports it.

export function unwritten(file: string, section: string): never {
  // Many tests fail here at first. Without a stack trace, each failure takes one line.
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = 0;
  const error = new Error(
    `${file} is not written yet: see "${section}" in Fairlead's docs/write-a-provider.md.`,
  );
  Error.stackTraceLimit = limit;
  throw error;
}

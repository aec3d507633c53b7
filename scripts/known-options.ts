// Ends a script that takes few options before it does anything: with what it is for when that is asked, and with what is
// not known otherwise.

export function stopUnlessKnown(
  args: readonly string[],
  {
    usage,
    options,
    valued = [],
  }: {
    readonly usage: string;
    readonly options: readonly string[];
    /** Those with a value in the next word. */
    readonly valued?: readonly string[];
  },
): void {
  if (args.includes("--help") || args.includes("-h")) {
    process.stdout.write(usage);
    process.exit(0);
  }
  const strange = args.find(
    (word, index) => ![...options, ...valued].includes(word) && !valued.includes(args[index - 1] ?? ""),
  );
  if (strange === undefined) return;
  process.stderr.write(`${strange} is not an option.\n${usage}`);
  process.exit(2);
}

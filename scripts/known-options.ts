// For scripts with few options: prints the usage for --help, and rejects unknown options.

export function stopUnlessKnown(
  args: readonly string[],
  {
    usage,
    options,
    valued = [],
  }: {
    readonly usage: string;
    readonly options: readonly string[];
    /** Options whose value is the next argument. */
    readonly valued?: readonly string[];
  },
): void {
  if (args.includes("--help") || args.includes("-h")) {
    process.stdout.write(usage);
    process.exit(0);
  }
  const unknown = args.find(
    (word, index) => ![...options, ...valued].includes(word) && !valued.includes(args[index - 1] ?? ""),
  );
  if (unknown === undefined) return;
  process.stderr.write(`Unknown option ${unknown}.\n\n${usage}`);
  process.exit(2);
}

// Reads the rows of docs/differences.md: their numbers, and whether the profile `upstream` restores upstream's behavior. Pure.

/** Whether a row's difference disappears with `--compatibility=upstream`, by its number. */
export function profileOfRows(page: string): ReadonlyMap<string, boolean> {
  const rows = page.split("\n").filter((line) => /^\| D\d+ \|/.test(line));
  return new Map(
    rows.map((line) => {
      const [, row = "", , , , , , profile = ""] = line.split(/(?<!\\)\|/).map((cell) => cell.trim());
      return [row, profile === "yes"];
    }),
  );
}

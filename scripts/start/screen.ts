// Formats text for a terminal: colors, columns, and lines cut to its size. Pure.

const colors = { green: 32, yellow: 33, red: 31, dim: 90, bold: 1 } as const;
export type Color = keyof typeof colors;
export type Cell = string | { readonly text: string; readonly color: Color };

const mark = "\u001B";
const reset = `${mark}[0m`;
export const paint = (text: string, color: Color): string => `${mark}[${colors[color]}m${text}${reset}`;

const pieces = new RegExp(`${mark}\\[\\d*m|[^${mark}]`, "gu");
/** Removes color codes. */
export function plain(line: string): string {
  return (line.match(pieces) ?? []).filter((piece) => !piece.startsWith(mark)).join("");
}

/** Cuts the line to this number of visible characters. */
export function cut(line: string, width: number): string {
  if (plain(line).length <= width) return line;
  let kept = "";
  let left = width - 1;
  for (const piece of line.match(pieces) ?? []) {
    if (!piece.startsWith(mark) && left-- <= 0) break;
    kept += piece;
  }
  return `${kept}…${line.includes(mark) ? reset : ""}`;
}

/** Breaks the text between words into lines of at most this width, each after two spaces. */
export function wrapText(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const longer = `${lines.at(-1) ?? ""} ${word}`;
    if (lines.length > 0 && longer.length <= width) lines[lines.length - 1] = longer;
    else lines.push(`  ${word}`);
  }
  return lines;
}

/** Joins the items with commas, and breaks them into lines of at most this width. An item is never broken. */
export function wrap([first = "", ...items]: readonly string[], width: number): readonly string[] {
  const lines: string[] = [];
  let line = first;
  for (const item of items) {
    const longer = `${line}, ${item}`;
    if (longer.length < width) line = longer;
    else {
      lines.push(`${line},`);
      line = `  ${item}`;
    }
  }
  return [...lines, line];
}

/** Aligns the cells in columns. A column is as wide as its widest cell, up to a maximum; the last one is not limited. */
export function inColumns(rows: readonly (readonly Cell[])[], maxWidth = 24): readonly string[] {
  const textOf = (cell: Cell): string => (typeof cell === "string" ? cell : cell.text);
  const widths = (rows[0] ?? []).map((_, index) =>
    Math.min(maxWidth, Math.max(...rows.map((row) => textOf(row[index] ?? "").length))),
  );
  return rows.map((row) =>
    row
      .map((cell, index) => {
        const width = widths[index] ?? 0;
        const isLast = index === row.length - 1;
        const text = isLast ? textOf(cell) : cut(textOf(cell), width).padEnd(width);
        return typeof cell === "string" ? text : paint(text, cell.color);
      })
      .join("  "),
  );
}

/** The lines that fit; if not all fit, the last line states the number of the others. */
export function fit(lines: readonly string[], room: number, note = ""): readonly string[] {
  if (lines.length <= room) return lines;
  const shown = lines.slice(0, Math.max(0, room - 1));
  return [...shown, paint(`  … and ${lines.length - shown.length} more${note}`, "dim")];
}

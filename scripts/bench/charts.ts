// Draws figures as bars in SVG: one row for each figure, one bar for each program. Readable on light and on dark pages. Pure.

export interface Bar {
  readonly name: string;
  readonly value: number;
}

export interface ChartRow {
  readonly label: string;
  readonly unit: string;
  /** Bars of one row share a scale. */
  readonly bars: readonly Bar[];
}

export interface Chart {
  readonly title: string;
  /** How the figures were measured. */
  readonly note: string;
  readonly rows: readonly ChartRow[];
  /** True if all rows have the same unit, so that they share one scale. */
  readonly hasOneScale?: true;
}

const width = 760;
const labelWidth = 250;
const valueWidth = 130;
const barHeight = 14;
const barStep = 18;
const rowGap = 12;
const top = 58;

const style = `
    text { font: 13px system-ui, -apple-system, "Segoe UI", sans-serif; fill: #1f2328; }
    .title { font-size: 16px; font-weight: 600; }
    .note, .unit { fill: #59636e; font-size: 12px; }
    .bar0 { fill: #0969da; } .bar1 { fill: #9a6700; } .bar2 { fill: #6e7781; }
    @media (prefers-color-scheme: dark) {
      text { fill: #e6edf3; }
      .note, .unit { fill: #9198a1; }
      .bar0 { fill: #4493f8; } .bar1 { fill: #d29922; } .bar2 { fill: #9198a1; }
    }`;

const escaped = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");

/** A figure with separators for thousands. Infinity means that a manager never finished. */
export function figureText(value: number, digits = 0): string {
  if (value === Number.POSITIVE_INFINITY) return "never";
  return value.toFixed(digits).replace(/\B(?=(\d{3})+(?!\d))/g, ",");
}

/** Figures that are compared have the same number of decimals. */
function digitsOf(rows: readonly ChartRow[]): number {
  const values = rows.flatMap(({ bars }) => bars.map(({ value }) => value));
  return values.some((value) => !Number.isInteger(value) && value < 100) ? 1 : 0;
}

const largestOf = (rows: readonly ChartRow[]): number =>
  Math.max(...rows.flatMap(({ bars }) => bars.map(({ value }) => value)), 0);

const textAt = (x: number, y: number, text: string, type = ""): string =>
  `  <text x="${x}" y="${y}"${type === "" ? "" : ` class="${type}"`}>${escaped(text)}</text>`;

export function chartSvg({ title, note, rows, hasOneScale }: Chart): string {
  const names = [...new Set(rows.flatMap(({ bars }) => bars.map(({ name }) => name)))];
  const heightOf = ({ bars }: ChartRow): number => bars.length * barStep + rowGap;
  const height = top + rows.reduce((sum, row) => sum + heightOf(row), 0) + 30;
  const longest = width - labelWidth - valueWidth;
  const shapes: string[] = [];
  let y = top;
  for (const row of rows) {
    const compared = hasOneScale === true ? rows : [row];
    const [largest, digits] = [largestOf(compared), digitsOf(compared)];
    shapes.push(textAt(12, y + 11 + ((row.bars.length - 1) * barStep) / 2, row.label));
    for (const [index, { name, value }] of row.bars.entries()) {
      const barWidth = largest === 0 ? 0 : Math.max(value === 0 ? 0 : 2, (value / largest) * longest);
      const at = y + index * barStep;
      shapes.push(
        `  <rect class="bar${names.indexOf(name) % 3}" x="${labelWidth}" y="${at}" width="${barWidth.toFixed(1)}" height="${barHeight}" rx="2"/>`,
        textAt(
          Math.round(labelWidth + barWidth + 6),
          at + 11,
          `${figureText(value, digits)} ${row.unit}`,
          "unit",
        ),
      );
    }
    y += heightOf(row);
  }
  const legend = names.flatMap((name, index) => [
    `  <rect class="bar${index % 3}" x="${labelWidth + index * 210}" y="${height - 26}" width="12" height="12" rx="2"/>`,
    textAt(labelWidth + index * 210 + 18, height - 15, name),
  ]);
  const summary = rows
    .map(
      (row) =>
        `${row.label}: ${row.bars.map(({ name, value }) => `${name} ${figureText(value, digitsOf([row]))} ${row.unit}`).join(", ")}`,
    )
    .join("; ");
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-labelledby="title summary">`,
    `  <title id="title">${escaped(title)}</title>`,
    `  <desc id="summary">${escaped(summary)}</desc>`,
    `  <style>${style}\n  </style>`,
    textAt(12, 24, title, "title"),
    textAt(12, 42, note, "note"),
    ...shapes,
    ...(names.length > 1 ? legend : []),
    "</svg>",
    "",
  ].join("\n");
}

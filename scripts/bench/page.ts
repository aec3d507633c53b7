// The results of benchmarks as Markdown, and their place in docs/benchmarks.md. Pure.

import type { Chart } from "./charts.ts";
import type { Failure, Measured } from "./measure.ts";
import type { Section } from "./section.ts";

/** What is needed to compare figures. */
export interface Circumstances {
  readonly date: string;
  readonly executable: string;
  readonly machine: string;
  /** Load average of the minute before. */
  readonly load: string;
  readonly cloud: string;
}

const firstLine = (text: string): string => text.trim().split("\n")[0] ?? "";

const failed = ({ title, why }: Failure): string => `- **${title}** failed: ${firstLine(why)}`;

/** Where the charts are, from the page. */
export const chartFolder = "charts";

function part({ title, server, table, charts = {} }: Section): string {
  const images = Object.entries(charts).map(
    ([name, chart]) => `![${chart.title}](${chartFolder}/${name})\n\n`,
  );
  return `### ${title}\n\nAPI server: ${server}.\n\n${images.join("")}${table}\n`;
}

/** The charts of all sections, by the name of their file. */
export function chartsOf(sections: readonly Section[]): Readonly<Record<string, Chart>> {
  return Object.fromEntries(sections.flatMap(({ charts = {} }) => Object.entries(charts)));
}

export function describeCircumstances(given: Circumstances): string {
  return [
    `- Measured on ${given.date}: ${given.executable}`,
    `- Machine: ${given.machine}; load average before: ${given.load}`,
    `- Cloud: ${given.cloud}`,
  ].join("\n");
}

export function pageOf(circumstances: Circumstances, { sections, failures }: Measured): string {
  return [
    `${describeCircumstances(circumstances)}\n`,
    ...(failures.length === 0 ? [] : [`${failures.map(failed).join("\n")}\n`]),
    ...sections.map(part),
  ].join("\n");
}

const begin = "<!-- npm run bench -- all --write: begin -->";
const end = "<!-- npm run bench -- all --write: end -->";

/** Undefined if the document lacks the comments between which the figures are written. */
export function insertInto(document: string, page: string): string | undefined {
  const [from, to] = [document.indexOf(begin), document.indexOf(end)];
  if (from === -1 || to < from) return undefined;
  return `${document.slice(0, from + begin.length)}\n\n${page.trim()}\n\n${document.slice(to)}`;
}

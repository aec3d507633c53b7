// The results of benchmarks as Markdown, and their position in the documentation. Pure.

import { withGenerated } from "../docs/generated-part.ts";
import type { Chart } from "./charts.ts";
import type { Failure, Measured } from "./measure.ts";
import type { Section } from "./section.ts";

/** The data that is needed to compare figures. */
export interface Circumstances {
  readonly date: string;
  readonly executable: string;
  readonly machine: string;
  /** The load average of the minute before. */
  readonly load: string;
  readonly cloud: string;
}

const firstLine = (text: string): string => text.trim().split("\n")[0] ?? "";

const failed = ({ title, why }: Failure): string => `- **${title}** failed: ${firstLine(why)}`;

/** The folder of the charts, relative to the page. */
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

/** The page with the output of a benchmark between its comments. */
export function insertInto(page: string, benchmark: string, content: string): string {
  const mark = (end: string) => `<!-- npm run bench -- ${benchmark} --write: ${end} -->`;
  return withGenerated(page, mark("begin"), mark("end"), content.trim());
}

// The output of smoke: the objects to create and their cost, the leftovers of an earlier run, and the result. Pure.

import type { Milliseconds } from "../../core/brand.ts";
import { formatDuration } from "../../core/duration.ts";
import { wrapText } from "../../core/text.ts";
import type { Preview } from "./preview.ts";
import { recordPath, type SmokeRecord, smokeName } from "./record.ts";
import type { PartReport } from "./report.ts";
import type { Leftover, RunResult } from "./smoke-run.ts";

const width = 96;

const paragraph = (title: string, text: string): string =>
  wrapText(text, width, " ".repeat(10)).replace(" ".repeat(10), `${title}:`.padEnd(10));

export function previewText({ record, parts }: Preview, timeout: Milliseconds): string {
  const { cloud, route } = record;
  const limit = formatDuration(timeout);
  return [
    `smoke creates these objects in your account at ${cloud}, checks them in new listings, changes the load balancer once, and removes everything:`,
    "",
    ...parts.map(({ part, text }) => `  ${`${part}:`.padEnd(15)} ${text}`),
    "",
    paragraph(
      "Cost",
      "The cloud bills each object for as long as it exists, and many clouds bill a whole hour. Fairlead does not know the prices; docs/smoke.md has the links.",
    ),
    paragraph(
      "Time",
      `At most ${limit} for the test (--timeout), and again at most ${limit} for the removal.`,
    ),
    paragraph(
      "Mark",
      `Names and marks of the load balancer and the volume contain ${smokeName(record)} or ${record.uid}, which are random. Only these objects, and the route from the range to the machine, are changed or deleted.`,
    ),
    ...(route === undefined
      ? []
      : [
          paragraph(
            "Route",
            `Traffic of this network to ${route.destination} goes to the machine while the test runs. Some clouds need a setting of the machine for that, which may stay; docs/smoke.md names it.`,
          ),
        ]),
    paragraph(
      "Record",
      `${recordPath(cloud)} in this folder says what may exist. When everything is removed, it lists nothing, and you can delete it.`,
    ),
    "",
  ].join("\n");
}

export function earlierText({ cloud, startedAt, open }: SmokeRecord): string {
  return `An earlier run in this folder (${recordPath(cloud)}, started ${startedAt}) may have left: ${open.join(", ")}. If it is still running, let it end first.\n`;
}

/** `program`: the name that the user types. */
export function leftText(left: readonly Leftover[], program: string): string {
  if (left.length === 0) return "";
  return [
    "Still in the cloud, or not proved to be gone:",
    "",
    ...left.map(({ part, name, why }) => `  ${part}: ${name}\n    ${why}`),
    "",
    `To remove it, run "${program} smoke" again in this folder, or delete it in the cloud.`,
    "",
  ].join("\n");
}

const resultOf = ({ part, result, isRemoved }: PartReport): string =>
  `  ${`${part}:`.padEnd(15)} ${result}${isRemoved === true ? ", removed" : isRemoved === false ? ", not removed" : ""}`;

export function outcomeText(
  parts: readonly PartReport[],
  { left, isInterrupted }: RunResult,
  program: string,
  path: string | undefined,
): string {
  return [
    isInterrupted ? "Interrupted." : "Result:",
    "",
    ...parts.map(resultOf),
    "",
    leftText(left, program),
    ...(path === undefined
      ? []
      : [
          `Wrote ${path}: versions, steps, durations and counts of requests, without names, ids, addresses or secrets. docs/smoke.md says how to send it.`,
          "",
        ]),
  ].join("\n");
}

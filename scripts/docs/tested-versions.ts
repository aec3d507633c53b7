// The table of Kubernetes versions in docs/support.md, from scripts/docs/tested-versions.json, which `npm run
// test:cluster -- --record` writes when all of its tests pass.

import { readFileSync, writeFileSync } from "node:fs";
import { withGenerated } from "./generated-part.ts";

const file = new URL("tested-versions.json", import.meta.url).pathname;
const begin = "<!-- generated: versions -->";
const end = "<!-- end -->";

export interface TestedVersion {
  /** The version of the API server, for example 1.35.4. */
  readonly server: string;
  /** Additional flags of the API server. */
  readonly flags: string;
  readonly suite: "whole" | "smoke";
  readonly passed: number;
  /** The number of skipped tests: they need a kubelet, or only the nightly tests run them. */
  readonly skipped: number;
}

type Recorded = Readonly<TestedVersion & { date: string }>;

const minorOf = ({ server }: Recorded): string => server.split(".").slice(0, 2).join(".");

/** Replaces the record of this minor version with these flags. A smoke test does not replace the record of the whole suite. */
export function withRecord(records: readonly Recorded[], added: Recorded): readonly Recorded[] {
  const isSame = (one: Recorded) => minorOf(one) === minorOf(added) && one.flags === added.flags;
  if (added.suite === "smoke" && records.some((one) => isSame(one) && one.suite === "whole")) return records;
  return [...records.filter((one) => !isSame(one)), added].toSorted(
    (a, b) => b.server.localeCompare(a.server, "en", { numeric: true }) || a.flags.localeCompare(b.flags),
  );
}

export const recordedVersions = (): readonly Recorded[] =>
  JSON.parse(readFileSync(file, "utf8")) as readonly Recorded[];

export function recordVersion(tested: TestedVersion): void {
  const date = new Date().toISOString().slice(0, 10);
  writeFileSync(
    file,
    `${JSON.stringify(withRecord(recordedVersions(), { ...tested, date }), undefined, 2)}\n`,
  );
}

const suites = { whole: "all cluster tests", smoke: "the core of the cluster tests" };

function rowOf(record: Recorded): string {
  const { server, flags, suite, passed, skipped, date } = record;
  const variant = flags === "" ? "" : ` with \`${flags}\``;
  return `| ${minorOf(record)} | tested: ${suites[suite]} passed (${passed}; ${skipped} skipped) against the API server of ${server}${variant} on ${date} |`;
}

/** The page with the current table. */
export function withVersions(page: string, records: readonly Recorded[] = recordedVersions()): string {
  const table = ["| Version | State |", "|---|---|", ...records.map(rowOf)].join("\n");
  return withGenerated(page, begin, end, table);
}

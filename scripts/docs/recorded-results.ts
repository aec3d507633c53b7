// scripts/docs/recorded-results.json: the numbers of passed tests of other projects in the last run, and the versions that ran.

import { readFileSync, writeFileSync } from "node:fs";
import { foreignTests, pinned } from "./foreign-tests.ts";

const file = new URL("recorded-results.json", import.meta.url).pathname;

export interface Result {
  readonly date: string;
  readonly passed: number;
  readonly skipped: number;
  /** The joined result of `pinned`: the formatter of the project would rewrite a list. */
  readonly versions: string;
}

export type Results = Readonly<Record<string, Result>>;

export const recordedResults = (): Results => JSON.parse(readFileSync(file, "utf8")) as Results;

/** Records a test that passed. Tests that are not on the page are ignored. */
export function recordResult(id: string, passed: number, skipped: number): void {
  const test = foreignTests.find((one) => one.id === id);
  if (test === undefined) return;
  const date = new Date().toISOString().slice(0, 10);
  const results = {
    ...recordedResults(),
    [id]: { date, passed, skipped, versions: pinned(test).join(", ") },
  };
  const sorted = Object.fromEntries(Object.entries(results).toSorted(([a], [b]) => a.localeCompare(b)));
  writeFileSync(file, `${JSON.stringify(sorted, undefined, 2)}\n`);
}

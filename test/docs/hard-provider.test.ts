// Compares docs/write-a-hard-provider.md with the code: its excerpts with their provider, and its
// table of errors with the framework's policies.

import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { formatDuration } from "#ccm";
import { errorPolicies } from "../../src/cloud/error-policies.ts";
import { blocksOf, tutorial } from "../new-provider/stages.ts";

const root = join(import.meta.dir, "../..");
const textOf = (path: string): string => readFileSync(join(root, path), "utf8");
const page = textOf("docs/write-a-hard-provider.md");
const blocks = blocksOf(page);

/** The rows of the only table with this header, without its separator. */
function rowsBelow(header: string): readonly string[] {
  const [, after = ""] = page.split(`\n${header}\n`);
  return (after.split("\n\n")[0] ?? "").trim().split("\n").slice(1);
}

test("every code block in write-a-hard-provider.md is an excerpt of a file that is compiled and tested", () => {
  expect(blocks.length).toBeGreaterThan(10);
  expect(blocks.filter(({ path, text }) => !textOf(path).includes(text)).map(({ text }) => text)).toEqual([]);
  const opened = [...page.matchAll(/^```\w.*$/gm)].length;
  expect(opened).toBe(blocks.length);
});

test("the table of error kinds in write-a-hard-provider.md has every kind with its delays, reason and audience", () => {
  const rows = Object.entries(errorPolicies).map(([kind, { retry, reason, audience }]) => {
    const delays = [retry.first, retry.cap].map(formatDuration).join(" | ");
    return `| \`${kind}\` | ${delays} | \`${reason}\` | ${audience === "none" ? "–" : audience} |`;
  });
  const header = "| Kind | First delay | Longest delay | Reported as | To be fixed by |";
  expect(rowsBelow(header)).toEqual(rows);
});

test("both pages for provider authors have at most 800 lines, and the second page's provider less than 500", () => {
  const lengths = [tutorial, page].map((text) => text.split("\n").length - 1);
  expect((lengths[0] ?? 0) + (lengths[1] ?? 0)).toBeLessThanOrEqual(800);
  const files = ["index", "settings", "api", "machines", "plan-pool", "load-balancers", "jobs", "routes"];
  const lines = files.map((name) => textOf(`test/support/quarry/${name}.ts`).split("\n").length - 1);
  expect(lines.reduce((sum, count) => sum + count, 0)).toBeLessThan(500);
});

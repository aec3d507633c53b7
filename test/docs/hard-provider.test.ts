// Compares docs/write-a-hard-provider.md with the code: its excerpts with the provider that they are from, and its tables with
// the policies and reasons of the framework.

import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { commonReasons, formatDuration } from "#ccm";
import { errorPolicies } from "../../src/cloud/error-policies.ts";
import { blocksOf } from "../new-provider/stages.ts";

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

test("the table of common reasons in write-a-hard-provider.md has every reason with its meaning", () => {
  const rows = Object.entries(commonReasons).map(([reason, meaning]) => `| \`${reason}\` | ${meaning} |`);
  expect(rowsBelow("| Reason | Meaning |")).toEqual(rows);
});

test("write-a-hard-provider.md is short, and its provider has less than 500 lines", () => {
  expect(page.split("\n").length).toBeLessThan(380);
  const files = ["settings", "api", "machines", "plan-pool", "load-balancers", "jobs", "routes", "quarry"];
  const lines = files.map((name) => textOf(`test/support/quarry/${name}.ts`).split("\n").length - 1);
  expect(lines.reduce((sum, count) => sum + count, 0)).toBeLessThan(500);
});

import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { testTitles } from "../support/test-titles.ts";
import { managerBehaviors } from "./unpinned/manager.ts";
import { lifecycleBehaviors, nodeBehaviors } from "./unpinned/nodes.ts";
import { routeBehaviors } from "./unpinned/routes.ts";
import { serviceBehaviors } from "./unpinned/services.ts";

// Each behavior that upstream's tests do not cover has tests here, or an explanation. This fails when such a test is
// renamed or removed.

const root = resolve(import.meta.dir, "../..");
const lists = { nodeBehaviors, lifecycleBehaviors, serviceBehaviors, routeBehaviors, managerBehaviors };
const rows = Object.entries(lists).flatMap(([list, all]) =>
  all.map((row) => [`${list}: ${row.behavior}`, row] as const),
);
const differences = readFileSync(`${root}/docs/differences.md`, "utf8");
const decisions = readdirSync(`${root}/docs/decisions`);

const inFile = /^(test\/[\w/-]+\.(?:cluster|executable)\.ts): (.+)$/;

test("every behavior that upstream does not test has the tests listed for it", async () => {
  const titles = await testTitles("parity", "controllers", "kube", "app", "server");
  const isThere = (proof: string): boolean => {
    const [, file, title = ""] = inFile.exec(proof) ?? [];
    if (file !== undefined) return readFileSync(`${root}/${file}`, "utf8").includes(`"${title}`);
    return titles.some((each) => each.endsWith(proof));
  };
  const missing = rows.flatMap(([name, { provedBy = [] }]) =>
    provedBy.filter((proof) => !isThere(proof)).map((proof) => `${name}: ${proof}`),
  );
  expect(missing).toEqual([]);
});

test("every behavior without a test has an explanation that exists", () => {
  const isWritten = (note: string): boolean =>
    /^D\d+$/.test(note)
      ? differences.includes(`| ${note} |`)
      : decisions.some((name) => name === `${note}.md`);
  const bare = rows.flatMap(([name, { provedBy = [], note }]) =>
    provedBy.length === 0 && note === undefined ? [name] : [],
  );
  const unwritten = rows.flatMap(([name, { note }]) =>
    note === undefined || isWritten(note) ? [] : [`${name}: ${note}`],
  );
  expect([bare, unwritten]).toEqual([[], []]);
});

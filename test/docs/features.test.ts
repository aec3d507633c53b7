import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { featureGroups } from "../../scripts/docs/feature-rows.ts";
import { featuresPage, type Proofs, proofsOf, readJUnit, type Suite } from "../../scripts/docs/features.ts";
import { type Recorded, sortedProofs, validProofs } from "../../scripts/docs/recorded-proofs.ts";

const rows = featureGroups.flatMap((group) => group.rows);
const allIn = (ids: readonly string[]): Proofs => Object.fromEntries(ids.map((id) => [id, "test/a.test.ts"]));
const pageOf = (proofs: Partial<Record<Suite, Proofs>>): string =>
  featuresPage({ plain: {}, executable: {}, cluster: {}, tools: {}, ...proofs });

describe("the features page", () => {
  test("the features page lists proved features with a link, and unproved features at the end of their group", () => {
    const missing = ["F16", "F17", "F66"];
    const page = pageOf({ plain: allIn(rows.map(([id]) => id).filter((id) => !missing.includes(id))) });
    expect(page).toContain(`${rows.length - 3} of ${rows.length} features are available.`);
    expect(page.match(/^Not available: .*$/gm)).toEqual([
      "Not available: Per-node agent for local data; Instance tagging controller.",
      "Not available: Pool usage status.",
    ]);
    expect(page).toContain("| Zone and region labels | [a.test.ts](../test/a.test.ts) |");
    expect(page).not.toContain("| Instance tagging controller |");
  });

  test("the features page reports no missing feature when every feature is proved", () => {
    const page = pageOf({ plain: allIn(rows.map(([id]) => id)) });
    expect(page).toContain(`${rows.length} of ${rows.length} features are available.`);
    expect(page).not.toContain("Not available");
  });

  test("the features page counts a feature for the suite with the fewest requirements", () => {
    const page = pageOf({
      plain: { F1: "test/a.test.ts" },
      executable: { F1: "test/b.executable.ts", F92: "test/b.executable.ts" },
      cluster: { F92: "test/c.cluster.ts", S8: "test/c.cluster.ts" },
      tools: { F95: "test/d.tool.ts", S8: "test/d.tool.ts" },
    });
    expect(page.match(/^\| .* \| \[.*$/gm)).toEqual([
      "| Node initialization: provider id, type, addresses, taint removal | [a.test.ts](../test/a.test.ts) |",
      "| Release binary in one file, reproducible | [b.executable.ts](../test/b.executable.ts) |",
      "| Helm chart | [d.tool.ts](../test/d.tool.ts) |",
      expect.stringContaining("[c.cluster.ts](../test/c.cluster.ts) |"),
    ]);
    expect(
      page.match(/^\| (?:nothing|the executable|a control plane|tools of users, such as helm) .* 1 \|$/gm),
    ).toHaveLength(4);
  });

  test("the features page does not change when a test is renamed", () => {
    const named = (name: string) =>
      pageOf({ plain: proofsOf([{ title: `${name} [F1]`, file: "a", passed: true }]) });
    expect(named("before")).toBe(named("after"));
  });
});

test("the features page reads titles, files and results from a JUnit report", () => {
  const report = `<testcase name="a &quot;b&quot;" classname="c" file="test/x.ts" />
    <testcase name="d" file="./test/x.ts"><failure/></testcase><testcase name="e"><skipped /></testcase>`;
  expect(readJUnit(report)).toEqual([
    { title: 'c a "b"', file: "test/x.ts", passed: true },
    { title: "d", file: "test/x.ts", passed: false },
    { title: "e", file: "", passed: false },
  ]);
});

test("a feature links to the file with the most tests for it, with ported and whole-program tests last", () => {
  const passed = (file: string, ...titles: readonly string[]) =>
    titles.map((title) => ({ title, file, passed: true }));
  expect(
    proofsOf([
      ...passed("test/parity/p.test.ts", "a [F1]", "b [F1]", "c [F1]", "d [F2]"),
      ...passed("test/b.test.ts", "a [F1 N2]"),
      ...passed("test/c.test.ts", "a [F1]", "b [F1]"),
      { title: "failed [F3]", file: "test/c.test.ts", passed: false },
    ]),
  ).toEqual({ F1: "test/c.test.ts", F2: "test/parity/p.test.ts", N2: "test/b.test.ts" });
});

test("a recorded proof is valid while its file has a test with that id", () => {
  const sources: Readonly<Record<string, string>> = { "a.ts": 'test("it is [F1 N2]", () => {});' };
  const proofs = { F1: "a.ts", F2: "a.ts", N2: "a.ts", S1: "gone.ts" };
  expect(validProofs(proofs, (file) => sources[file])).toEqual({ F1: "a.ts", N2: "a.ts" });
  expect(Object.keys(sortedProofs({ S1: "", F10: "", F9: "" }))).toEqual(["F9", "F10", "S1"]);
});

test("every recorded proof is valid", () => {
  const root = resolve(import.meta.dir, "../..");
  const read = (file: string): string => readFileSync(resolve(root, file), "utf8");
  const { executable, cluster, tools } = JSON.parse(read("scripts/docs/recorded-proofs.json")) as Recorded;
  expect(Object.keys(executable).length).toBeGreaterThan(3);
  expect(Object.keys(cluster).length).toBeGreaterThan(10);
  for (const proofs of [executable, cluster, tools]) {
    const sourceOf = (file: string) => (existsSync(resolve(root, file)) ? read(file) : undefined);
    expect(validProofs(proofs, sourceOf)).toEqual(proofs);
  }
});

test("every feature has its own id", () => {
  const ids = rows.map(([id]) => id);
  expect(ids).toHaveLength(new Set(ids).size);
});

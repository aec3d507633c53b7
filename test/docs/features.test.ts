import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { featureGroups } from "../../scripts/docs/feature-rows.ts";
import { featuresPage, type Passed, readJUnit } from "../../scripts/docs/features.ts";
import { type Recorded, stillThere, worthRecording } from "../../scripts/docs/recorded-proofs.ts";

const rows = featureGroups.flatMap((group) => group.rows);
const titled = (ids: readonly string[]) => ids.map((id) => `it works [${id}]`);
const passed = (some: Partial<Passed>): Passed => ({ plain: [], executable: [], cluster: [], ...some });

test("the page names what is proved, and what is not by the part that it belongs to", () => {
  const proved = rows.map(([id]) => id).filter((id) => id !== "F16" && id !== "F66" && id !== "F17");
  const page = featuresPage(passed({ plain: titled(proved) }));
  expect(page).toContain(`${rows.length - 3} of ${rows.length} rows. No test`);
  expect(page.match(/^- .*$/gm)).toEqual([
    "- Node: Per-node agent for local data (F16); Instance tagging controller (F17)",
    "- Routes and IPAM: Pool usage status (F66)",
  ]);
  expect(page).toContain("| F1 |");
  expect(page).not.toContain("| F17 |");
});

test("nothing is said of others when every row is proved", () => {
  const page = featuresPage(passed({ plain: titled(rows.map(([id]) => id)) }));
  expect(page).toContain(`${rows.length} of ${rows.length} rows. None is left.`);
  expect(page.match(/^- /gm)).toBeNull();
});

test("a row needs as little as the least of its proofs", () => {
  const page = featuresPage(
    passed({
      plain: ["a plain one [F1]"],
      executable: ["a file [F1 F92]"],
      cluster: ["a server [F1]", "a server for all [F92 S8]"],
    }),
  );
  expect(page.match(/^\| [FS]\d+ .*$/gm)).toEqual([
    "| F1 | Node init: providerID, type, addresses, taint removal | nothing | a plain one (and 2 more) |",
    "| F92 | Downloadable release binary | the executable | a file (and 1 more) |",
    "| S8 | very large clusters | a control plane | a server for all |",
  ]);
  expect(page.match(/^\| (?:nothing|the executable|a control plane) .* (\d) \|$/gm)).toHaveLength(3);
});

test("of a report only what passed counts", () => {
  const report = `<testcase name="a &quot;b&quot;" classname="c" /><testcase name="d"><failure/></testcase>
    <testcase name="e"><skipped /></testcase>`;
  expect(readJUnit(report)).toEqual([
    { title: 'c a "b"', passed: true },
    { title: "d", passed: false },
    { title: "e", passed: false },
  ]);
});

test("a recorded proof counts while its test is there under the same title and ids", () => {
  const sources = [
    'test("it is [F1]", () => {}); test.each(["row [N2]"])("of %s and %d such [F3]", () => {});',
  ];
  const titles = [
    "the block it is [F1]",
    "row [N2]",
    "of a and 7 such [F3]",
    "it is [F2]",
    "it was [F1]",
    "a such [F3]",
  ];
  expect(stillThere(titles, sources)).toEqual(titles.slice(0, 3));
  expect(worthRecording(["b [F1]", "no id", "a [S2]", "b [F1]"])).toEqual(["a [S2]", "b [F1]"]);
});

test("what is recorded of the executable and of clusters is proved by tests that are there", () => {
  const root = resolve(import.meta.dir, "../..");
  const sources = [...new Bun.Glob("test/**/*.ts").scanSync({ cwd: root })].map((path) =>
    readFileSync(resolve(root, path), "utf8"),
  );
  const text = readFileSync(resolve(root, "scripts/docs/recorded-proofs.json"), "utf8");
  const { executable, cluster } = JSON.parse(text) as Recorded;
  expect(executable.length).toBeGreaterThan(3);
  expect(cluster.length).toBeGreaterThan(10);
  for (const titles of [executable, cluster]) {
    expect(titles.filter((title) => !stillThere([title], sources).includes(title))).toEqual([]);
  }
});

test("no id stands in two rows", () => {
  const ids = rows.map(([id]) => id);
  expect(ids).toHaveLength(new Set(ids).size);
});

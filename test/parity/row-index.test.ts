import { beforeAll, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { testTitles } from "../support/test-titles.ts";
import { catalog, ofTheProcess } from "./catalog.ts";

// Every row of upstream's tests of nodes, Services and routes has a test here under upstream's name and number. This
// fails when a row disappears or an upstream test is forgotten.

let titles: readonly string[];
beforeAll(async () => {
  titles = await testTitles("parity", "server");
});

/** "Test_x 1 2: …" is both rows. */
const rowsIn = (all: readonly string[]): ReadonlyMap<string, ReadonlySet<number>> => {
  const rows = new Map<string, Set<number>>();
  for (const title of all) {
    for (const [, name = "", numbers = ""] of title.matchAll(/(Test_?\w+)((?: \d+\b)*)/g)) {
      const known = rows.get(name) ?? new Set<number>();
      for (const number of numbers.trim() === "" ? ["1"] : numbers.trim().split(" "))
        known.add(Number(number));
      rows.set(name, known);
    }
  }
  return rows;
};

test("every row of the catalog has a test with its name and number", async () => {
  const rows = rowsIn(titles);
  const missing = Object.entries(catalog).flatMap(([name, count]) =>
    Array.from({ length: count }, (_, index) => index + 1).flatMap((row) =>
      rows.get(name)?.has(row) === true ? [] : [`${name} ${row}`],
    ),
  );
  expect(missing).toEqual([]);
});

test("every upstream test of the process has a test here", async () => {
  const all = titles.join("\n");
  expect(ofTheProcess.filter((name) => !new RegExp(`\\b${name}\\b`).test(all))).toEqual([]);
});

test("rowsIn reads names and numbers from titles", () => {
  expect(rowsIn(["TestA 1 2: both", "TestA: whole", "TestB (upstream)"])).toEqual(
    new Map([
      ["TestA", new Set([1, 2])],
      ["TestB", new Set([1])],
    ]),
  );
});

/** The last column of docs/differences.md: "`TestA` 1, 2; `TestB`". A name without numbers means all of its rows. */
const changedRows = (): ReadonlyMap<string, readonly string[]> => {
  const page = readFileSync(resolve(import.meta.dir, "../../docs/differences.md"), "utf8");
  const columns = [...page.matchAll(/^\| D\d+ \|.* \| ([^|]*) \|$/gm)].map(([, rows = ""]) => rows);
  const found = new Map<string, readonly string[]>();
  for (const [, name = "", numbers = ""] of columns.join("; ").matchAll(/`(Test\w+)`((?: \d+,?)*)/g)) {
    found.set(name, [...(found.get(name) ?? []), numbers.replaceAll(",", "")]);
  }
  return found;
};

test("every row with another result in Fairlead is listed in docs/differences.md", async () => {
  const known = changedRows();
  const isNamed = (name: string, number: string): boolean =>
    (known.get(name) ?? []).some((numbers) => numbers === "" || numbers.split(" ").includes(number));
  const different = titles.filter((title) => /\(Fairlead\)/.test(title));
  const rows = different.flatMap((title) => {
    const [, name = "", number = ""] = /.*\b(Test_?\w+)(?: (\d+))?/.exec(title) ?? [];
    return name === "" ? [] : [{ name, number, title }];
  });
  expect(rows.length).toBeGreaterThan(12);
  expect(rows.filter(({ name, number }) => !isNamed(name, number)).map(({ title }) => title)).toEqual([]);
});

// The public API for provider authors is documented, and its page is current.

import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { publicExports } from "../../scripts/docs/exports.ts";
import { referencePage } from "../../scripts/docs/reference-page.ts";
import * as api from "../../src/index.ts";

const root = join(import.meta.dir, "../..");

test("every export of src/index.ts has a doc comment", () => {
  expect(publicExports().filter(({ doc }) => doc === "")).toEqual([]);
});

test("the reader of doc comments finds every value that src/index.ts exports, once", () => {
  const names = publicExports().map(({ name }) => name);
  expect(Object.keys(api).filter((name) => !names.includes(name))).toEqual([]);
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
});

test("declarations in the reference are complete: brackets match, and types end with a semicolon", () => {
  const count = (text: string, pattern: RegExp): number => text.match(pattern)?.length ?? 0;
  const incomplete = publicExports().filter(
    ({ declaration: code }) =>
      count(code, /\{/g) !== count(code, /\}/g) || !/^(interface|class) [\s\S]*\}$|;$/.test(code),
  );
  expect(incomplete.map(({ name }) => name)).toEqual([]);
});

test("docs/provider-reference.md is up to date; npm run docs generates it", () => {
  expect(readFileSync(join(root, "docs/provider-reference.md"), "utf8")).toBe(referencePage());
});

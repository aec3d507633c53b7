// The public API for provider authors is documented, and its page is current.

import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { publicExports } from "../../scripts/docs/exports.ts";
import { referencePage } from "../../scripts/docs/reference-page.ts";
import * as api from "../../src/index.ts";
import * as testing from "../../src/testing/index.ts";

const root = join(import.meta.dir, "../..");

const indexes = [
  ["src/index.ts", api],
  ["src/testing/index.ts", testing],
] as const;

test.each(indexes)("every export of %s has a doc comment", (index) => {
  expect(publicExports(index).filter(({ doc }) => doc === "")).toEqual([]);
});

test.each(indexes)(
  "the doc comment reader finds every value that %s exports exactly once",
  (index, values) => {
    const names = publicExports(index).map(({ name }) => name);
    expect(Object.keys(values).filter((name) => !names.includes(name))).toEqual([]);
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
  },
);

test("declarations in the reference are complete: brackets match, and types end with a semicolon", () => {
  const count = (text: string, pattern: RegExp): number => text.match(pattern)?.length ?? 0;
  const all = indexes.flatMap(([index]) => publicExports(index));
  const incomplete = all.filter(
    ({ declaration: code }) =>
      count(code, /\{/g) !== count(code, /\}/g) || !/^(interface|class) [\s\S]*\}$|;$/.test(code),
  );
  expect(incomplete.map(({ name }) => name)).toEqual([]);
});

/** The types of the language and its libraries. */
const builtIn =
  "Promise AsyncIterable AsyncGenerator Readonly Record Partial Pick Omit Exclude Extract NoInfer ReadonlyMap ReadonlySet Map Set Error Headers Response AbortSignal URL Uint8Array Buffer Request ReturnType Parameters Iterable Array ArrayBuffer Date Symbol String Number NonNullable AsyncDisposable URLSearchParams TemplateStringsArray ConstructorParameters".split(
    " ",
  );

test("the reference defines every type that its declarations use", () => {
  const all = indexes.flatMap(([index]) => publicExports(index));
  const known = new Set([...builtIn, ...all.map(({ name }) => name)]);
  const unknown = all.flatMap(({ name, declaration }) => {
    const code = declaration.replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, "").replaceAll(/"[^"]*"|`[^`]*`/g, "");
    const own = [...code.matchAll(/\b([A-Z]\w*)(?=\s*(?:extends|in|,|>|=))/g)].map(([, one = ""]) => one);
    const parameters = own.filter((one) => /^[A-Z]$|^Name$/.test(one));
    const used = [...code.matchAll(/(?<![.\w#"])([A-Z]\w+)\b(?!\??:|\()/g)].map(([, one = ""]) => one);
    // The suites accept providers of any type.
    const isOfSuites = /^[cC]onverge/.test(name);
    return used
      .filter((one) => !(isOfSuites && one === "Desired"))
      .filter((one) => !known.has(one) && !parameters.includes(one))
      .map((one) => `${one} in ${name}`);
  });
  expect([...new Set(unknown)]).toEqual([]);
});

test("the reference page contains what tests and simulators import", () => {
  const page = referencePage();
  for (const name of ["Harness", "SimulatedCloud", "TargetMachine", "VirtualClock", "converge"])
    expect(page).toContain(`### ${name}\n`);
});

test("docs/provider-reference.md is up to date; npm run docs generates it", () => {
  expect(readFileSync(join(root, "docs/provider-reference.md"), "utf8")).toBe(referencePage());
});

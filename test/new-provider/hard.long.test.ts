// The provider that `npm run new-provider -- NAME --hard` writes: complete, with a different name.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readName } from "../../scripts/new-provider/provider-name.ts";
import { repository, skeletonOf } from "../../scripts/new-provider/skeleton.ts";
import { portableRules } from "../../scripts/new-provider/tidy.ts";
import { writeSkeleton } from "../../scripts/new-provider/write-skeleton.ts";
import { runsAllTests } from "../../src/testing/breadth.ts";
import { outcomesOf, run, scratchFolder } from "./stages.ts";

const root = scratchFolder();
const provider = join(root, "providers/green-meadow");
const testFile = join(root, "test/providers/green-meadow.test.ts");
const bin = (name: string): string => join(repository, "node_modules/.bin", name);

beforeAll(() => {
  const name = readName("green-meadow", []);
  if ("error" in name) throw new Error(name.error);
  writeSkeleton(skeletonOf(name, { kind: "inside", root }, "hard"));
  writeFileSync(join(root, "biome.json"), portableRules());
  const include = ["providers", "test/providers"];
  writeFileSync(join(root, "tsconfig.json"), JSON.stringify({ extends: "../../tsconfig.json", include }));
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

test("a provider made with --hard passes all conformance suites without a change [F99 S12]", async () => {
  const outcomes = await outcomesOf(testFile);
  expect(outcomes.flatMap(({ failure }) => failure ?? [])).toEqual([]);
  expect(outcomes.length).toBeGreaterThan(60);
});

test.if(runsAllTests)(
  "a provider made with --hard compiles, and is formatted and linted by the project's rules [F99 F104]",
  async () => {
    const [types, style] = await Promise.all([
      run([bin("tsc"), "-p", root]),
      run([bin("biome"), "check", "--error-on-warnings", "providers", "test"], root),
    ]);
    expect(types).toEqual({ code: 0, output: "" });
    expect(style.code === 0 ? "" : style.output).toBe("");
  },
);

test("a provider made with --hard has no trace of the template's name", () => {
  const files = readdirSync(provider, { recursive: true, encoding: "utf8" }).filter((path) =>
    path.endsWith(".ts"),
  );
  expect(files.length).toBeGreaterThan(9);
  const texts = [testFile, ...files.map((path) => join(provider, path))].map((path) =>
    readFileSync(path, "utf8"),
  );
  expect(texts.filter((text) => /quarry|acme/i.test(text))).toEqual([]);
});

test.if(runsAllTests)(
  "a provider made with --hard works with the real manager: Nodes, routes, and a Service that is created and deleted [F104 S12]",
  async () => {
    const attempt = await run([
      process.execPath,
      join(repository, "scripts/new-provider.ts"),
      "try",
      provider,
    ]);
    const reported = attempt.output.split("\n").filter((line) => line !== "" && !/^[IWE]\d{4} /.test(line));
    expect(reported).toHaveLength(4);
    expect(reported[3]).toBe("The Service web and its load balancer are deleted.");
    expect(attempt.code).toBe(0);
  },
);

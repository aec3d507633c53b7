// Follows the tutorial section by section from a fresh skeleton: each stage compiles, is formatted, and passes the
// suites that the tutorial names. All stages run in parallel, each in its own folder.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { cpSync, readdirSync, readFileSync, rmSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { repository } from "../../scripts/new-provider/skeleton.ts";
import { portableRules } from "../../scripts/new-provider/tidy.ts";
import { runsAllTests } from "../../src/testing/breadth.ts";
import {
  blocksOf,
  type Finished,
  follow,
  freshStage,
  outcomesOf,
  run,
  scratchFolder,
  type TestOutcome,
  tutorial,
} from "./stages.ts";

const blocks = blocksOf(tutorial);
/** The sections so far, including this one. */
const stages = ["1", "3", "4", "5", "6", "7"] as const;
type Stage = (typeof stages)[number];
/** The stages whose suites run; all stages are compiled. */
const tried: readonly Stage[] = runsAllTests ? stages : ["1", "4", "7"];

const scratch = scratchFolder();
const folderOf = (stage: Stage): string => join(scratch, `section-${stage}`);
const outcomes = new Map<Stage, readonly TestOutcome[]>();
let planOutcomes: readonly TestOutcome[] = [];
let types: Finished;
let style: Finished;
let attempt: Finished;

const reach = (stage: Stage): void => {
  const root = folderOf(stage);
  if (stage !== "1") cpSync(folderOf("1"), root, { recursive: true });
  follow(
    root,
    blocks.filter(({ section }) => Number.parseInt(section, 10) <= Number(stage)),
  );
  if (stage === "7") unlinkSync(join(root, "providers/meadow/unwritten.ts"));
};

beforeAll(async () => {
  freshStage(folderOf("1"));
  stages.forEach(reach);
  writeFileSync(join(scratch, "biome.json"), portableRules());
  const include = ["*/providers", "*/test/providers"];
  const written = stages.flatMap((stage) => [
    `section-${stage}/providers`,
    `section-${stage}/test/providers`,
  ]);
  writeFileSync(join(scratch, "tsconfig.json"), JSON.stringify({ extends: "../../tsconfig.json", include }));
  const bin = (name: string) => join(repository, "node_modules/.bin", name);
  const last = folderOf("7");
  const scriptOf = [process.execPath, join(repository, "scripts/new-provider.ts")];
  const suites = tried.map(async (stage) => {
    outcomes.set(stage, await outcomesOf(join(folderOf(stage), "test/providers/meadow.test.ts")));
  });
  [types, style, attempt, planOutcomes] = await Promise.all([
    run([bin("tsc"), "-p", scratch]),
    run([bin("biome"), "check", "--error-on-warnings", ...written], scratch),
    run([...scriptOf, "try", join(last, "providers/meadow")]),
    outcomesOf(join(folderOf("5"), "test/providers/meadow-plan.test.ts")),
    ...suites,
  ]);
});
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

const suiteNames = ["instances", "load balancers", "routes"] as const;
const failuresIn = (stage: Stage, suite: string): readonly TestOutcome[] =>
  (outcomes.get(stage) ?? []).filter(
    (each) => each.suite === `meadow: ${suite}` && each.failure !== undefined,
  );
/** The files and sections to which the failures of a suite refer; "elsewhere" for a failure without a reference. */
const referencesOf = (stage: Stage, suite: string): readonly string[] => {
  const references = failuresIn(stage, suite).map(
    ({ failure }) => /([\w-]+\.ts) is not written yet: see \\?"([^"\\]*)/.exec(failure ?? "") ?? [],
  );
  return [
    ...new Set(references.map(([, file = "elsewhere", section = ""]) => `${file}: ${section}`)),
  ].toSorted();
};

describe("a fresh skeleton", () => {
  const passed = (): readonly string[] =>
    (outcomes.get("1") ?? [])
      .filter(({ failure }) => failure === undefined)
      .map(({ suite, title }) => `${suite}: ${title}`);

  test("a fresh skeleton passes only the tests that need no provider code [F99 S12]", () => {
    expect(passed()).toEqual([
      'meadow: instances: finds no source for the provider id ""',
      'meadow: instances: finds no source for the provider id "node-0"',
      'meadow: instances: finds no source for the provider id "other-cloud://1"',
      'meadow: instances: finds no source for the provider id "meadow://"',
      "meadow: instances: returns no answer for a machine when its lookup request fails",
      "meadow: routes: keeps a change by another client between the read and the write",
    ]);
    expect(suiteNames.map((suite) => failuresIn("1", suite).length > 5)).toEqual([true, true, true]);
  });

  test("a fresh skeleton names a file and a section of the tutorial in every failure [F99 S12]", () => {
    const api = "api.ts: 3. Call the API";
    const balancers = "load-balancers.ts: 6. Load balancers: apply";
    expect(suiteNames.map((suite) => referencesOf("1", suite))).toEqual([[api], [api, balancers], [api]]);
  });
});

describe("the tutorial", () => {
  test("the tutorial implements everything that a section covers [S12]", () => {
    const machines = ["instances.ts: 4. Machines"];
    const balancers = ["load-balancers.ts: 6. Load balancers: apply"];
    const routes = ["routes.ts: 7. Routes"];
    const unwritten = {
      "3": [machines, balancers, routes],
      "4": [[], balancers, routes],
      "5": [[], balancers, routes],
      "6": [[], [], routes],
      "7": [[], [], []],
    };
    for (const stage of tried) {
      if (stage === "1") continue;
      const references = suiteNames.map((suite) => referencesOf(stage, suite));
      expect({ stage, references }).toEqual({ stage, references: unwritten[stage] });
    }
  });

  test("the tutorial ends with all suites passing [F101 F102 N10]", () => {
    const last = outcomes.get("7") ?? [];
    expect(last.flatMap(({ failure }) => failure ?? [])).toEqual([]);
    expect(last.length).toBe(outcomes.get("1")?.length as number);
    expect(last.filter(({ title }) => title.endsWith("at every operation")).length).toBeGreaterThan(10);
  });

  test("the tutorial has a test of the plan that passes before `apply` is written", () => {
    expect(planOutcomes.flatMap(({ failure }) => failure ?? [])).toEqual([]);
    expect(planOutcomes.length).toBeGreaterThan(5);
  });

  test("the tutorial compiles with the project's settings at every section [F104 N18]", () => {
    expect(types).toEqual({ code: 0, output: "" });
  });

  test("the tutorial's code is formatted and linted by the project's rules", () => {
    expect(style.code === 0 ? "" : style.output).toBe("");
  });

  test("the tutorial's provider works with the real manager: Nodes, routes, and a Service that is created and deleted [F104 S12]", () => {
    const reported = attempt.output.split("\n").filter((line) => line !== "" && !/^[IWE]\d{4} /.test(line));
    expect(reported).toEqual([
      "3 Nodes are initialized.",
      "Each Node has a route to its pods.",
      expect.stringMatching(/^The Service web has the address 192\.0\.2\.\d+\.$/),
      "The Service web and its load balancer are deleted.",
    ]);
    expect(attempt.code).toBe(0);
  });

  test("the tutorial has every section to which a skeleton refers", () => {
    const folder = join(repository, "scripts/new-provider/template/provider");
    const texts = readdirSync(folder).filter((name) => name.endsWith(".ts"));
    const named = texts.flatMap((name) => [
      ...readFileSync(join(folder, name), "utf8").matchAll(/"(\d+\. [A-Z][^"]*)"/g),
    ]);
    expect(named.length).toBeGreaterThan(4);
    for (const [, section] of named) expect(tutorial).toContain(`\n## ${section}\n`);
  });

  test("the tutorial shows excerpts of the settings and the definition as in the skeleton", () => {
    const root = join(scratch, "unchanged");
    freshStage(root);
    const excerpts = [...tutorial.matchAll(/^```ts excerpt (\S+)\n([\s\S]*?)^```$/gm)];
    expect(excerpts.map(([, path]) => path)).toEqual([
      "providers/meadow/settings.ts",
      "providers/meadow/index.ts",
    ]);
    for (const [, path = "", text = ""] of excerpts)
      expect(readFileSync(join(root, path), "utf8")).toContain(text);
  });

  test("the tutorial names existing npm scripts and each file once, and its provider has less than 450 lines", () => {
    const { scripts } = JSON.parse(readFileSync(join(repository, "package.json"), "utf8")) as {
      readonly scripts: Readonly<Record<string, string>>;
    };
    const named = [...tutorial.matchAll(/npm run(?:-script)? ([\w:-]+)/g)].map(([, name = ""]) => name);
    expect(named.filter((name) => scripts[name] === undefined)).toEqual([]);
    const paths = blocks.map(({ path }) => path);
    expect(new Set(paths).size).toBe(paths.length);
    const written = blocks.filter(({ path }) => path.startsWith("providers/"));
    expect(written.reduce((sum, { text }) => sum + text.split("\n").length - 1, 0)).toBeLessThan(450);
  });
});

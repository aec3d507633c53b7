// A provider outside the repository: creating it, building it, and build errors.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { repository } from "../../scripts/new-provider/skeleton.ts";
import { contractVersion } from "../../src/provider/provider.ts";
import { runsAllTests } from "../../src/testing/breadth.ts";
import { type Finished, outcomesOf, run } from "./stages.ts";

const script = (name: string, ...args: string[]): Promise<Finished> =>
  run([process.execPath, join(repository, "scripts", `${name}.ts`), ...args]);

const outside = join(tmpdir(), `fairlead-outside-${process.pid}`);
const folder = join(outside, "green-meadow");
const dist = join(outside, "dist");
let made: Finished;

beforeAll(async () => {
  mkdirSync(outside);
  made = await script("new-provider", "green-meadow", "--dir", folder);
});
afterAll(() => rmSync(outside, { recursive: true, force: true }));

describe("npm run new-provider with --dir", () => {
  test("npm run new-provider with --dir writes all files into one folder and prints the next steps in order [F99 S12]", () => {
    expect(made.code).toBe(0);
    const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).toSorted();
    expect(files).toEqual([
      "api.ts",
      "green-meadow.test.ts",
      "index.ts",
      "instances.ts",
      "load-balancers.ts",
      "plan-balancer.ts",
      "routes.ts",
      "settings.ts",
      "simulator",
      "simulator/cloud.ts",
      "simulator/harness.ts",
      "tsconfig.json",
      "unwritten.ts",
    ]);
    const steps = [...made.output.matchAll(/^ {2}(\d+)\. /gm)].map(([, number]) => Number(number));
    expect(steps).toEqual(steps.map((_, index) => index + 1));
  });

  test("npm run new-provider with --dir writes files that compile, and a test that finds the conformance suites [F101 F104 N18]", async () => {
    const [types, outcomes] = await Promise.all([
      run([join(repository, "node_modules/.bin/tsc"), "-p", folder]),
      outcomesOf(join(folder, "green-meadow.test.ts")),
    ]);
    expect(types).toEqual({ code: 0, output: "" });
    const red = outcomes.flatMap(({ failure }) => failure ?? []);
    expect([
      outcomes.length - red.length,
      red.every((message) => message.includes("is not written yet")),
    ]).toEqual([6, true]);
  });

  test.if(runsAllTests)(
    "the check with --fix formats a provider outside the repository, and checks it like other providers",
    async () => {
      const index = join(folder, "index.ts");
      const before = readFileSync(index, "utf8");
      writeFileSync(index, before.replaceAll("  ", "     "));
      const clean = await script("check", "--fix", folder);
      expect(readFileSync(index, "utf8")).toBe(before);
      expect([clean.code, ...(clean.output.match(/^ok {6}\D+(?= \()/gm) ?? [])]).toEqual([
        0,
        ...["types", "promises", "lint and format", "architecture", "words"].map((name) => `ok      ${name}`),
      ]);
      const wrong = join(folder, "wrong.ts");
      const text = `import "${repository}/src/core/brand.ts";\n// ${"who"}${"ever"}\nexport const at: string =   Date.now( );\n`;
      writeFileSync(wrong, text);
      const { code, output } = await script("check", folder);
      rmSync(wrong);
      expect(code).toBe(1);
      expect(output).toContain("1 passed, 4 failed");
      expect(output).toContain("\nwrong.ts uses Date.now");
      expect(output).toContain("\nwrong.ts:2: ");
    },
  );

  test("the check rejects a provider outside the repository without tsconfig.json", async () => {
    const empty = join(outside, "empty");
    mkdirSync(empty);
    const { code, output } = await script("check", empty);
    expect([code, output]).toEqual([
      2,
      `${empty} has no tsconfig.json. Expected a provider made with --dir.\n`,
    ]);
  });

  test("npm run new-provider with --dir writes nothing if one of the files already exists", async () => {
    const existing = join(outside, "again");
    mkdirSync(existing);
    writeFileSync(join(existing, "routes.ts"), "mine");
    const { code, output } = await script("new-provider", "meadow", "--dir", existing);
    expect([code, readdirSync(existing)]).toEqual([2, ["routes.ts"]]);
    expect(output).toContain("No files were written, because these already exist");
  });
});

describe("npm run build with a path", () => {
  test.if(runsAllTests)(
    "npm run build builds an executable of a provider outside the repository [F104 S2 S12]",
    async () => {
      // The build must not need tsconfig.json, which gives editors the path of Fairlead.
      rmSync(join(folder, "tsconfig.json"));
      const built = await script("build", folder, "--outdir", dist);
      const name = "green-meadow-cloud-controller-manager";
      expect([built.code, readdirSync(dist).toSorted()]).toEqual([
        0,
        [name, `${name}.cdx.json`, `${name}.sha256`],
      ]);
      const executable = join(dist, "green-meadow-cloud-controller-manager");
      const [version, help] = await Promise.all([
        run([executable, "--version"]),
        run([executable, "--help"]),
      ]);
      expect(version).toEqual({
        code: 0,
        output: expect.stringMatching(
          /^green-meadow-cloud-controller-manager v\d+\.\d+\.\d+\+[0-9a-f]{12}(\.dirty)?\n$/,
        ),
      });
      expect(help.output).toContain("GREEN_MEADOW_ENDPOINT");
    },
  );

  const definition = (contract: string): string =>
    `export const other = { contract: ${contract}, name: "other", connect: () => ({}) };\n`;
  const invalid: readonly (readonly [string, string, string])[] = [
    [
      "a newer contract",
      definition("contractVersion + 1"),
      `The provider other is written for contract ${contractVersion + 1}, but this version of Fairlead has contract ${contractVersion}. Build it with a release of Fairlead that has contract ${contractVersion + 1}.`,
    ],
    [
      "an older contract",
      definition("contractVersion - 1"),
      `The provider other is written for contract ${contractVersion - 1}, but this version of Fairlead has contract ${contractVersion}. Update it as CHANGELOG.md of Fairlead describes, set`,
    ],
    ["a module without a provider", "export const other = 1;\n", "has no export made with defineProvider."],
    ["a missing import", 'export * from "./nothing.ts";\n', "./nothing.ts"],
    [
      "test code in the provider",
      `import { sleep } from "#ccm/testing";\n${definition("contractVersion")}export { sleep };\n`,
      'imports "#ccm/testing", which is for tests and simulators and never part of an executable.',
    ],
    [
      "a file of the test tools in the provider",
      `export * from ${JSON.stringify(join(repository, "src/testing/virtual-time/virtual-clock.ts"))};\n`,
      "virtual-clock.ts is for tests and never part of an executable.",
    ],
  ];
  test.each(invalid)("npm run build rejects %s with an explanation", async (title, text, message) => {
    const path = join(outside, `${title.replaceAll(" ", "-")}.ts`);
    writeFileSync(path, `import { contractVersion } from "#ccm";\n${text}`);
    const unused = join(outside, "unused");
    const { code, output } = await script("build", path, "--outdir", unused);
    expect([code, existsSync(unused)]).toEqual([2, false]);
    expect(output).toContain(message);
  });

  test("npm run build rejects a module that throws when it is loaded, with the file and the line but without bundled code", async () => {
    const path = join(outside, "throws.ts");
    const regions = join(outside, "regions of the cloud.ts");
    const lines = [
      "export interface Region {",
      "  readonly name: string;",
      "}",
      "export function read(): Region {",
    ];
    writeFileSync(regions, [...lines, '  throw new Error("regions.json is missing");', "}", ""].join("\n"));
    writeFileSync(
      path,
      `import { read } from ${JSON.stringify(regions)};\n\nexport const region = read();\n`,
    );
    const { code, output } = await script("build", path, "--outdir", join(outside, "unused"));
    expect([code, output]).toEqual([
      2,
      `${path} could not be loaded:\nError: regions.json is missing\n    at read (${regions}:5:13)\n    at ${path}:3:23\n`,
    ]);
  });

  test("npm run build rejects a path without a provider, lists the checked paths, and suggests a similar name", async () => {
    const [empty, near] = await Promise.all([script("build", outside), script("build", "fakee")]);
    expect([empty.code, near.code]).toEqual([2, 2]);
    expect(empty.output).toContain(`${join(outside, "index.ts")}\n`);
    expect(empty.output).toContain("npm run new-provider -- <name>");
    expect(near.output).toContain("No provider fakee. Did you mean fake?");
  });
});

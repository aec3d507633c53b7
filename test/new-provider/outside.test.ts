// A provider outside the repository, from the command that makes it to an executable that runs: once as an author does it,
// and then everything that may be wrong with what is to be built.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { repository } from "../../scripts/new-provider/skeleton.ts";
import { contractVersion } from "../../src/provider/provider.ts";
import { type Finished, outcomesOf, run } from "./stages.ts";

const script = (name: string, ...args: string[]): Promise<Finished> =>
  run([process.execPath, join(repository, "scripts", `${name}.ts`), ...args]);

const outside = mkdtempSync(join(tmpdir(), "fairlead-outside-"));
const folder = join(outside, "green-meadow");
const dist = join(outside, "dist");
let made: Finished;

beforeAll(async () => {
  made = await script("new-provider", "green-meadow", "--dir", folder);
}, 30_000);
afterAll(() => rmSync(outside, { recursive: true, force: true }));

describe("npm run new-provider with --dir", () => {
  test("writes everything into one folder and says what to do, in order [F99 S12]", () => {
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
      "tsconfig.json",
      "unwritten.ts",
    ]);
    const steps = [...made.output.matchAll(/^ {2}(\d+)\. /gm)].map(([, number]) => Number(number));
    expect(steps).toEqual(steps.map((_, index) => index + 1));
  });

  test("gives what compiles there, and a test that finds the conformance suites [F101 F104 N18]", async () => {
    const [types, outcomes] = await Promise.all([
      run([join(repository, "node_modules/.bin/tsc"), "-p", folder]),
      outcomesOf(join(folder, "green-meadow.test.ts")),
    ]);
    expect(types).toEqual({ code: 0, output: "" });
    const red = outcomes.flatMap(({ complaint }) => complaint ?? []);
    expect([
      outcomes.length - red.length,
      red.every((words) => words.includes("is not written yet")),
    ]).toEqual([6, true]);
  });

  test("touches nothing when something is there already", async () => {
    const requeue = join(outside, "again");
    mkdirSync(requeue);
    writeFileSync(join(requeue, "routes.ts"), "mine");
    const { code, output } = await script("new-provider", "meadow", "--dir", requeue);
    expect([code, readdirSync(requeue)]).toEqual([2, ["routes.ts"]]);
    expect(output).toContain("Nothing was written, because these are there already");
  }, 30_000);
});

describe("npm run build with a path", () => {
  test("makes an executable of a provider outside the repository [F104 S2 S12]", async () => {
    // The build must not need the one file that tells editors where Fairlead is.
    rmSync(join(folder, "tsconfig.json"));
    const built = await script("build", folder, "--outdir", dist);
    const name = "green-meadow-cloud-controller-manager";
    expect([built.code, readdirSync(dist).toSorted()]).toEqual([
      0,
      [name, `${name}.cdx.json`, `${name}.sha256`],
    ]);
    const executable = join(dist, "green-meadow-cloud-controller-manager");
    const [version, help] = await Promise.all([run([executable, "--version"]), run([executable, "--help"])]);
    expect(version).toEqual({
      code: 0,
      output: expect.stringMatching(
        /^green-meadow-cloud-controller-manager v\d+\.\d+\.\d+\+[0-9a-f]{12}(\.dirty)?\n$/,
      ),
    });
    expect(help.output).toContain("GREEN_MEADOW_ENDPOINT");
  }, 30_000);

  const definition = (contract: string): string =>
    `export const other = { contract: ${contract}, name: "other", connect: () => ({}) };\n`;
  const refusals: readonly (readonly [string, string, string])[] = [
    [
      "a newer contract",
      definition("contractVersion + 1"),
      `The provider other is written for contract ${contractVersion + 1}, and this Fairlead has contract ${contractVersion}. Build it with a release of Fairlead that has contract ${contractVersion + 1}.`,
    ],
    [
      "an older contract",
      definition("contractVersion - 1"),
      `The provider other is written for contract ${contractVersion - 1}, and this Fairlead has contract ${contractVersion}. Change what the release notes say`,
    ],
    ["a module without a provider", "export const other = 1;\n", "exports nothing made by defineProvider."],
    ["an import that is not there", 'export * from "./nothing.ts";\n', "./nothing.ts"],
  ];
  test.each(refusals)(
    "refuses %s, and says so",
    async (title, text, words) => {
      const path = join(outside, `${title.replaceAll(" ", "-")}.ts`);
      writeFileSync(path, `import { contractVersion } from "#ccm";\n${text}`);
      const unused = join(outside, "unused");
      const { code, output } = await script("build", path, "--outdir", unused);
      expect([code, existsSync(unused)]).toEqual([2, false]);
      expect(output).toContain(words);
    },
    30_000,
  );

  test("refuses a path without a provider, says where it looked, and what may have been meant", async () => {
    const [empty, near] = await Promise.all([script("build", outside), script("build", "fakee")]);
    expect([empty.code, near.code]).toEqual([2, 2]);
    expect(empty.output).toContain(`${join(outside, "index.ts")}\n`);
    expect(empty.output).toContain("npm run new-provider -- <name>");
    expect(near.output).toContain("There is no provider fakee. Did you mean fake?");
  }, 30_000);
});

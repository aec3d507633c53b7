// Tests the names of new providers, and that the skeleton of any valid name is formatted and compiles.

import { afterAll, describe, expect, test } from "bun:test";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readName, similarName } from "../../scripts/new-provider/provider-name.ts";
import { repository, skeletonOf } from "../../scripts/new-provider/skeleton.ts";
import { portableRules } from "../../scripts/new-provider/tidy.ts";
import { writeSkeleton } from "../../scripts/new-provider/write-skeleton.ts";
import { runsAllTests } from "../../src/testing/breadth.ts";
import { run, scratchFolder } from "./stages.ts";

const taken = ["fake", "hetzner"];

describe("the name of a provider", () => {
  test("a provider name has a spelling for each use", () => {
    expect(readName("my-cloud-2", taken)).toEqual({
      kebab: "my-cloud-2",
      camel: "myCloud2",
      title: "My Cloud 2",
      upper: "MY_CLOUD_2",
    });
  });

  const wrong: readonly (readonly [string, string])[] = [
    [
      "MyCloud",
      `A provider's name consists of lowercase words joined by dashes, got "MyCloud". Did you mean "my-cloud"?`,
    ],
    [
      "my_cloud",
      `A provider's name consists of lowercase words joined by dashes, got "my_cloud". Did you mean "my-cloud"?`,
    ],
    [
      "2clouds",
      `A provider's name consists of lowercase words joined by dashes, got "2clouds". Did you mean "clouds"?`,
    ],
    [
      "../cloud",
      `A provider's name consists of lowercase words joined by dashes, got "../cloud". Did you mean "cloud"?`,
    ],
    ["-", `A provider's name consists of lowercase words joined by dashes, got "-".`],
    ["", `A provider's name consists of lowercase words joined by dashes, got "".`],
    ["fake", 'A provider "fake" already exists. Choose a different name.'],
    ["try", '"try" is a reserved word in TypeScript. Choose a different name, such as "try-cloud".'],
    ["a".repeat(41), `A provider's name has at most 40 characters, but "${"a".repeat(40)}…" has 41.`],
  ];
  test.each(wrong)("rejects a provider name such as %p with a suggestion", (given, message) => {
    expect(readName(given, taken)).toEqual({ error: message });
  });

  test("accepts a provider name that resembles an existing name, with a hint", () => {
    const name = readName("hetzer", taken);
    if ("error" in name) throw new Error(name.error);
    expect(similarName(name, taken)).toBe("hetzner");
  });
});

test("npm run new-provider rejects an invalid name and an unknown option, and prints its usage", async () => {
  const script = [process.execPath, join(repository, "scripts/new-provider.ts")];
  const [name, option, nothing] = await Promise.all([
    run([...script, "Fake"]),
    run([...script, "meadow", "--dri", "x"]),
    run(script),
  ]);
  expect([name.code, option.code, nothing.code]).toEqual([2, 2, 2]);
  expect(name.output).toContain('Did you mean "fake"?');
  expect(option.output).toContain("Unknown option --dri. Did you mean --dir?");
  expect(nothing.output).toStartWith(
    "Expected the name of the new provider.\n\nUsage: npm run new-provider -- <name>",
  );
});

describe("a skeleton", () => {
  const scratch = scratchFolder();
  afterAll(() => rmSync(scratch, { recursive: true, force: true }));

  test.if(runsAllTests)(
    "a skeleton is formatted and compiles with the shortest and the longest name [F99]",
    async () => {
      const names = ["z", "a-very-long-name-for-a-rather-small-one"];
      for (const given of names) {
        const name = readName(given, taken);
        if ("error" in name) throw new Error(name.error);
        writeSkeleton(skeletonOf(name, { kind: "outside", folder: join(scratch, given) }));
      }
      writeFileSync(join(scratch, "biome.json"), portableRules());
      const bin = (tool: string) => join(repository, "node_modules/.bin", tool);
      const [style, ...types] = await Promise.all([
        run([bin("biome"), "check", "--error-on-warnings", ...names], scratch),
        ...names.map((given) => run([bin("tsc"), "-p", join(scratch, given)])),
      ]);
      expect(style.code === 0 ? "" : style.output).toBe("");
      expect(types.map(({ output }) => output)).toEqual(["", ""]);
    },
  );
});

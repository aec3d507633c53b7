// Names of providers: which are taken, which are refused with which words, and that any good one gives a skeleton as tidy
// as that of the template.

import { afterAll, describe, expect, test } from "bun:test";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { nearName, readName } from "../../scripts/new-provider/provider-name.ts";
import { repository, skeletonOf } from "../../scripts/new-provider/skeleton.ts";
import { rulesAnywhere } from "../../scripts/new-provider/tidy.ts";
import { writeSkeleton } from "../../scripts/new-provider/write-skeleton.ts";
import { run, scratchFolder } from "./stages.ts";

const taken = ["fake", "hetzner"];

describe("a name", () => {
  test("has a spelling for each place", () => {
    expect(readName("my-cloud-2", taken)).toEqual({
      kebab: "my-cloud-2",
      camel: "myCloud2",
      title: "My Cloud 2",
      upper: "MY_CLOUD_2",
    });
  });

  const wrong: readonly (readonly [string, string])[] = [
    ["MyCloud", 'A name is lower case words joined by dashes, got "MyCloud". Did you mean "my-cloud"?'],
    ["my_cloud", 'A name is lower case words joined by dashes, got "my_cloud". Did you mean "my-cloud"?'],
    ["2clouds", 'A name is lower case words joined by dashes, got "2clouds". Did you mean "clouds"?'],
    ["../cloud", 'A name is lower case words joined by dashes, got "../cloud". Did you mean "cloud"?'],
    ["-", 'A name is lower case words joined by dashes, got "-".'],
    ["", 'A name is lower case words joined by dashes, got "".'],
    ["fake", 'There is a provider "fake" already. Take another name.'],
    ["try", '"try" is a word of TypeScript and cannot be exported. Take "try-cloud".'],
    ["a".repeat(41), `A name has at most 40 characters, "${"a".repeat(40)}…" has 41.`],
  ];
  test.each(wrong)("such as %p is refused, and says what would do", (given, words) => {
    expect(readName(given, taken)).toEqual({ wrong: words });
  });

  test("near to one that is there is taken, with a hint", () => {
    const name = readName("hetzer", taken);
    if ("wrong" in name) throw new Error(name.wrong);
    expect(nearName(name, taken)).toBe("hetzner");
  });
});

test("npm run new-provider refuses a wrong name and an unknown option with its usage", async () => {
  const script = [process.execPath, join(repository, "scripts/new-provider.ts")];
  const [name, option, nothing] = await Promise.all([
    run([...script, "Fake"]),
    run([...script, "meadow", "--dri", "x"]),
    run(script),
  ]);
  expect([name.code, option.code, nothing.code]).toEqual([2, 2, 2]);
  expect(name.output).toContain('Did you mean "fake"?');
  expect(option.output).toContain("--dri is not known; did you mean --dir?");
  expect(nothing.output).toStartWith("Usage: npm run new-provider -- <name>");
}, 30_000);

describe("a skeleton", () => {
  const scratch = scratchFolder();
  afterAll(() => rmSync(scratch, { recursive: true, force: true }));

  test("is formatted and compiles under the shortest and the longest name [F99]", async () => {
    const names = ["z", "a-very-long-name-for-a-rather-small-one"];
    for (const given of names) {
      const name = readName(given, taken);
      if ("wrong" in name) throw new Error(name.wrong);
      writeSkeleton(skeletonOf(name, { kind: "outside", folder: join(scratch, given) }));
    }
    writeFileSync(join(scratch, "biome.json"), rulesAnywhere());
    const bin = (tool: string) => join(repository, "node_modules/.bin", tool);
    const [style, ...types] = await Promise.all([
      run([bin("biome"), "check", "--error-on-warnings", ...names], scratch),
      ...names.map((given) => run([bin("tsc"), "-p", join(scratch, given)])),
    ]);
    expect(style.code === 0 ? "" : style.output).toBe("");
    expect(types.map(({ output }) => output)).toEqual(["", ""]);
  }, 30_000);
});

// Runs every parser and handler with mutated inputs: it returns, or throws one of its own errors. A
// failure prints the command that repeats it. `npm run fuzz` runs longer, with other seeds.

import { describe, expect, test } from "bun:test";
import { runsAllTests } from "../../src/testing/breadth.ts";
import { checkInput, corpusOf, type FuzzTarget, fuzz } from "./target.ts";
import { targets } from "./targets/index.ts";
import { der, json, lines, protobuf, xml } from "./tree.ts";

const runs = runsAllTests ? 500 : 25;

describe.each(targets.map((target) => [target.name, target] as const))("%s", (_, target) => {
  test("fuzz targets accept the valid inputs from which mutations start", async () => {
    const { mayThrow: _, ...strict } = target;
    for (const [from, input] of (await corpusOf(target)).entries()) await checkInput(strict, input, from);
  });

  test("fuzz targets return, or throw one of their own errors, for mutated inputs", async () => {
    const { cost = 1 } = target;
    expect(await fuzz(target, { seed: 1, runs: Math.ceil(runs / cost) })).toBeUndefined();
  });
});

describe("fuzz", () => {
  const careless: FuzzTarget = {
    name: "careless",
    form: json,
    corpus: ['{"items":[{"name":"a"},{"name":"b"}]}'],
    run: (input) => {
      const { items = [] } = Object(parsed(input)) as {
        readonly items?: readonly { readonly name: string }[];
      };
      return items.map(({ name }) => name.length);
    },
  };
  const parsed = (input: string): unknown => {
    try {
      return JSON.parse(input);
    } catch {
      return undefined;
    }
  };

  test("the fuzzer finds an unexpected error, and reproduces the error by its path", async () => {
    const failure = (await fuzz(careless, { seed: 1, runs: 200 })) ?? "";
    expect(failure).toContain("It threw an error that its callers do not expect: TypeError");
    const [, path = ""] = /npm run fuzz -- careless --seed 1 --path ([\d:]+)/.exec(failure) ?? [];
    const [message, input] = (await fuzz(careless, { seed: 1, runs: 200, path }))?.split("\n") ?? [];
    expect(failure).toStartWith(`${message}\n${input}\n`);
  });

  test("the fuzzer finds a result that is much larger than its input", async () => {
    const growing = { ...careless, run: (input: string) => input.repeat(1000) };
    expect(await fuzz(growing, { seed: 1, runs: 20 })).toContain("It made");
  });

  test.each([
    ["json", json, '{"a":[1,"b",{"c":null}],"d":{}}'],
    ["lines", lines, "a:\n  b: 1\n  c:\n    - d\n\n# e\nf: g"],
    ["xml", xml, '<?xml version="1.0"?><a x="1"><b>c</b><b>d</b></a>'],
    ["der", der, "\x30\x0b\x02\x01\x07\x30\x06\x0c\x04abcd"],
    ["protobuf", protobuf, "\x08\x96\x01\x12\x07testing\x1a\x06\x08\x01\x12\x02hi"],
  ])("a mutation keeps the rest of its input unchanged, for %s", (_, form, text) => {
    expect(form.print(form.parse(text))).toBe(text);
  });
});

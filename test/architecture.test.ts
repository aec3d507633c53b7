import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import {
  type Exemptions,
  folderCycles,
  importsOf,
  layers,
  literalSpreads,
  type SourceFile,
  violationsOf,
} from "../scripts/check/architecture.ts";

const root = join(import.meta.dir, "..");

const read = (folder: string): readonly SourceFile[] =>
  readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".ts") && !path.includes("node_modules"))
    .map((path) => `${folder}/${path.replaceAll("\\", "/")}`)
    .map((path) => ({ path, text: readFileSync(join(root, path), "utf8") }));

const exempt: Exemptions = {
  // Tables of data, and nothing else.
  long: {},
  names: {
    "src/app/manager/manager.ts":
      "the process is the cloud-controller-manager: here it is the name of the thing",
  },
};

describe("the architecture", () => {
  const files = ["src", "providers", "scripts"].flatMap(read);

  test("holds in every file", () => {
    expect(files.length).toBeGreaterThan(100);
    expect(files.flatMap((file) => violationsOf(file, exempt))).toEqual([]);
  });

  test("no file, including tests, spreads one object literal into another", () => {
    expect(read("test").flatMap(literalSpreads)).toEqual([]);
  });

  test("every exemption is necessary", () => {
    const needed = files.flatMap((file) => violationsOf(file));
    for (const path of [...Object.keys(exempt.long ?? {}), ...Object.keys(exempt.names ?? {})]) {
      expect(needed.some((text) => text.startsWith(path))).toBe(true);
    }
  });

  test("no two layers import each other", () => {
    for (const [layer, below] of Object.entries(layers)) {
      for (const each of below) expect(layers[each] ?? []).not.toContain(layer);
    }
  });
});

describe("folders", () => {
  const file = (path: string, specifier: string): SourceFile => ({
    path,
    text: `import { a } from "${specifier}";`,
  });

  test("imports between the parts of a folder go in only one direction", () => {
    expect(folderCycles(["src", "providers"].flatMap(read))).toEqual([]);
  });

  test("files that import each other are reported", () => {
    const cycle = [file("src/x/a/one.ts", "../b/two.ts"), file("src/x/b/three.ts", "../a/four.ts")];
    expect(folderCycles(cycle)).toEqual(["src/x: a and b need each other", "src/x: b and a need each other"]);
  });

  test("files that import each other through a third file are reported", () => {
    const cycle = [
      file("src/x/a/one.ts", "../b/two.ts"),
      file("src/x/b/three.ts", "../c.ts"),
      file("src/x/c.ts", "./a/four.ts"),
    ];
    expect(folderCycles(cycle)).toHaveLength(3);
  });
});

describe("the architecture check reports", () => {
  const cases: readonly [string, string, string, string][] = [
    [
      "an import upward",
      "src/core/x.ts",
      '// x\nimport { a } from "../kube/api.ts";',
      "core may import nothing",
    ],
    [
      "a type from a higher layer",
      "src/runtime/x.ts",
      '// x\nimport type { A } from "../provider/call.ts";',
      "runtime may import core, platform",
    ],
    [
      "an import over several lines",
      "src/kube/x.ts",
      '// x\nimport {\n  a,\n  type B,\n} from "../cloud/inventory/instances.ts";',
      "kube may import core, platform",
    ],
    [
      "a re-export",
      "src/core/x.ts",
      '// x\nexport * from "../platform/clock.ts";',
      "core may import nothing",
    ],
    [
      "a dynamic import",
      "src/app/x.ts",
      '// x\nconst a = await import("../testing/index.ts");',
      "testing is for tests",
    ],
    [
      "the wing that explains, below it",
      "src/controllers/x.ts",
      '// x\nimport type { A } from "../inspect/explain/description.ts";',
      "controllers may import core",
    ],
    [
      "the wing that explains, in what composes a manager",
      "src/app/manager/x.ts",
      '// x\nimport { a } from "../../inspect/explain/description.ts";',
      "app may import core",
    ],
    [
      "a command in the wing that explains",
      "src/inspect/explain/x.ts",
      '// x\nimport { a } from "../../app/commands/explain.ts";',
      "inspect may import core",
    ],
    [
      "a package",
      "src/core/x.ts",
      '// x\nimport { z } from "zod";',
      "may import only citty, consola/core, yaml",
    ],
    [
      "a package of a provider",
      "providers/a/x.ts",
      'const a = await import("@aws-sdk/client-ec2");',
      "only #ccm",
    ],
    [
      "code of a package that is there for its types",
      "src/kube/x.ts",
      '// x\nimport { KubeConfig } from "@kubernetes/client-node";',
      "only its types",
    ],
    ["a folder without a layer", "src/magic/x.ts", '// x\nimport "../core/brand.ts";', "has no layer yet"],
    [
      "an import from outside src",
      "src/app/x.ts",
      '// x\nimport { a } from "../../test/support/a.ts";',
      "outside src",
    ],
    [
      "an import from another provider",
      "providers/a/x.ts",
      'import { b } from "../b/b.ts";',
      "only from its own folder",
    ],
    ["the inside of src", "providers/a/x.ts", 'import { b } from "../../src/core/brand.ts";', 'only "#ccm"'],
    [
      "more of src than a simulator needs",
      "providers/a/simulator/x.ts",
      'import { b } from "../../../src/kube/b.ts";\nimport { c } from "#ccm/testing";',
      'only "#ccm"',
    ],
    ["a test tool in use", "providers/a/x.ts", 'import { b } from "#ccm/testing";', 'only "#ccm"'],
    [
      "a simulator in use",
      "providers/a/x.ts",
      'import { b } from "./simulator/b.ts";',
      "never part of an executable",
    ],
    ["use of the clock", "src/cloud/x.ts", "// x\nconst a = Date.now();", "Date.now"],
    ["today", "src/cloud/x.ts", "// x\nconst a = new Date();", "new Date()"],
    ["use of a timer", "providers/a/x.ts", "setTimeout(() => 1, 5);", "setTimeout"],
    ["use of the network", "src/cloud/x.ts", '// x\nconst a = await fetch("https://x");', "fetch"],
    ["chance", "src/cloud/x.ts", "// x\nconst a = Math.random();", "Math.random"],
    ["a collection", "src/kube/x.ts", "// x\nBun.gc(true);", "Bun.gc"],
    ["use of the environment", "src/app/x.ts", "// x\nconst a = process.env;", "process.env"],
    ["a default export", "src/app/x.ts", "// x\nexport default 1;", "default export"],
    [
      "an arrow with a body",
      "src/app/x.ts",
      "// x\nexport const a = (b: number): number => {\n};",
      "function declaration",
    ],
    [
      "a closure over state",
      "src/app/x.ts",
      "// x\nexport function createCounter() {\n  let count = 0;\n  return {\n    next: () => {\n      count += 1;\n    },\n  };\n}",
      "a class with #private fields",
    ],
    ["a spread of a literal", "src/app/x.ts", "// x\nconst a = { b: 1, ...{ c, d } };", "spreads a literal"],
    [
      "a file inside another file's folder",
      "src/app/x.ts",
      "// x\nconst a = 1;\n\n// Other things.\n\nconst b = 2;",
      "second header",
    ],
    ["a file without a comment", "src/app/x.ts", "export const a = 1;", "start with a comment"],
    ["a name without a meaning", "src/app/utils.ts", "// x\n", "does not describe"],
    ["a long file", "scripts/x.ts", "\n".repeat(501), "501 lines"],
    [
      "an asynchronous plan",
      "src/controllers/a/plan.ts",
      "// x\nexport const plan = async () => 1;",
      "async",
    ],
    [
      "an asynchronous function in a file that declares itself pure",
      "src/cloud/x.ts",
      "// Says which way is cheaper, of\n// two. Pure.\n\nexport const x = async () => 1;",
      "is pure",
    ],
    [
      "a plan with values of kube",
      "src/controllers/a/labels.ts",
      '// x\nimport { type A, b } from "../../kube/api.ts";',
      "only types",
    ],
  ];
  test.each(cases)("%s", (_, path, text, expected) => {
    const violations = violationsOf({ path, text });
    expect(violations).toHaveLength(1);
    expect(violations[0]).toContain(expected);
  });

  test("no violation in allowed code", () => {
    const text = [
      "// setTimeout is not called here, nor Date.now().",
      'import type { Node } from "../../kube/objects.ts";',
      'import { type Labels } from "../../kube/objects.ts";',
      'import { seconds } from "../../core/brand.ts";',
      'const text = "process.env and fetch(x)";',
      "interface A { fetch(plain: string): number }",
      "const b = account.fetch(1) + new Date(5).getTime();",
    ].join("\n");
    expect(violationsOf({ path: "src/controllers/node/plan.ts", text })).toEqual([]);
    expect(importsOf(text).map(({ isType }) => isType)).toEqual([true, true, false]);
  });
});

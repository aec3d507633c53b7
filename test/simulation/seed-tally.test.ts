import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { addRun, total, versionOfSources } from "./seed-tally.ts";

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "seeds-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("counts a seed that two runs have only once, and once more with variants", () => {
  const file = join(folder, "runs", "a.jsonl");
  addRun(file, { variants: "", from: 1, seeds: 100, failed: [7] });
  addRun(file, { variants: "", from: 51, seeds: 100, failed: [] });
  const runs = addRun(file, { variants: "volumes stops", from: 1, seeds: 10, failed: [3] });
  expect(total(runs)).toEqual({ plain: 150, varied: 10, failed: ["3 volumes stops", "7"] });
});

test("a version of the sources depends on code, and not on comments and tests", () => {
  const version = (name: string, text: string): string => {
    mkdirSync(join(folder, "src"), { recursive: true });
    writeFileSync(join(folder, "src", name), text);
    return versionOfSources(folder);
  };
  const first = version("a.ts", "export const one: number = 1;\n");
  expect(version("a.ts", "// The first number.\nexport const one = 1;\n")).toBe(first);
  expect(version("a.test.ts", "export const two = 2;\n")).toBe(first);
  expect(version("a.ts", "export const one = 2;\n")).not.toBe(first);
});

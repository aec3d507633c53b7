import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";

// Reasons on events and conditions are one list, which people match on: whatever the code says is written down there.

const root = new URL("../../", import.meta.url).pathname;
const filesIn = (folder: string): readonly string[] =>
  readdirSync(`${root}${folder}`, { recursive: true })
    .map(String)
    .filter((name) => name.endsWith(".ts"))
    .map((name) => `${root}${folder}/${name}`);

const said = ["src/controllers", "src/cloud"]
  .flatMap(filesIn)
  .flatMap((path) => [
    ...readFileSync(path, "utf8").matchAll(/(?:reason: |\bwarning\(\s*)"([A-Z][A-Za-z]+)"/g),
  ])
  .flatMap(([, reason]) => reason ?? []);

test("every reason on events and conditions is in the one list [N8]", () => {
  const list = readFileSync(`${root}docs/annotations.md`, "utf8");
  expect(said.length).toBeGreaterThan(40);
  expect([...new Set(said)].filter((reason) => !list.includes(`\`${reason}\``)).toSorted()).toEqual([]);
});

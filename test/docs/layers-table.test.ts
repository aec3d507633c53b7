// The table of layers in docs/architecture.md is the one that `npm run check` enforces.

import { expect, test } from "bun:test";
import { layers } from "../../scripts/check/architecture.ts";

const page = await Bun.file(`${import.meta.dir}/../../docs/architecture.md`).text();
const rows = [...page.matchAll(/^\| `src\/([\w-]+)`( entries)? \| ([^|]+) \|/gm)].map(
  ([, folder = "", entries = "", text = ""]) => ({ layer: `${folder}${entries}`, text: text.trim() }),
);
const namesIn = (text: string): readonly string[] => text.split(/, | and /);

function allowedBy(text: string, above: readonly string[]): readonly string[] {
  if (text === "nothing") return [];
  const except = /^all of the above except (.+)$/.exec(text)?.[1];
  return except === undefined ? namesIn(text) : above.filter((layer) => !namesIn(except).includes(layer));
}

test("the table of layers has every folder with its allowed imports", () => {
  const inTable = rows.map(({ layer, text }, index) => [
    layer,
    allowedBy(
      text,
      rows.slice(0, index).map((row) => row.layer),
    ).toSorted(),
  ]);
  const enforced = Object.entries(layers).map(([layer, below]) => [layer, below.toSorted()]);
  // `src/index.ts` is a file.
  const expected = Object.fromEntries(enforced.filter(([layer]) => layer !== "index.ts"));
  expect(Object.fromEntries(inTable)).toEqual(expected);
});

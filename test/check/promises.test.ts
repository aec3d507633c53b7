// What the promise check reports, and what it ignores.

import { expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { heldPromises } from "../../scripts/check/promises.ts";

const found = `
declare const list: (what: string) => Promise<string>;
export async function pair() {
  const [one, other] = [list("one"), list("other")];
  return [await one, await other];
}
export const several = async (names: readonly string[]) => {
  const lists = names.map(list);
  await list("first");
  return Promise.all(lists);
};
export class Beside {
  async run() {
    const watching = list("changes").then((text) => text.length);
    try {
      await list("work");
    } finally {
      await list("end");
    }
    return watching;
  }
}
`;

const allowed = `
declare const list: (what: string) => Promise<string>;
export async function together() {
  const reading = list("one");
  const [one, other] = await Promise.all([reading, list("other")]);
  const handled = list("handled").catch(() => "");
  const both = list("both").then(
    () => "",
    () => "",
  );
  const value = one + other;
  await list("last");
  const again = () => list("again");
  await again();
  return [await handled, await both, value, await again()];
}
`;

test("reports the line of a promise that is held while another promise is awaited", async () => {
  const folder = mkdtempSync(join(tmpdir(), "fairlead-promises-"));
  try {
    const options = { target: "esnext", lib: ["esnext"], types: [], strict: true };
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions: options }));
    writeFileSync(join(folder, "found.ts"), found);
    writeFileSync(join(folder, "allowed.ts"), allowed);
    const messages = await heldPromises(join(folder, "tsconfig.json"), (path) => path.startsWith(folder));
    expect(messages.map((text) => text.replace(`${folder}/`, ""))).toEqual([
      "found.ts:4: other is a promise that is held while a different promise is awaited. Use Promise.all.",
      "found.ts:8: lists is a promise that is held while a different promise is awaited. Use Promise.all.",
      "found.ts:14: watching is a promise that is held while a different promise is awaited. Use Promise.all.",
    ]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

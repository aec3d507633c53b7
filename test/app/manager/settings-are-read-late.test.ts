import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { needsRestart, notesOf } from "../../../src/app/flags/flag-notes.ts";
import { flagFields } from "../../../src/app/flags/flag-table.ts";
import type { Field } from "../../../src/core/settings.ts";

// A reload replaces settings in place. A value that was copied at the start of the process would never change.

const root = join(import.meta.dir, "../../..");
const filesIn = (folder: string): readonly (readonly [path: string, text: string])[] =>
  readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".ts"))
    .map((path) => [`${folder}/${path}`, readFileSync(join(root, folder, path), "utf8")] as const);

const fields: Readonly<Record<string, Field<unknown>>> = flagFields;
/** Whether a reload applies a change of the flag. */
const isLive = (name: string): boolean => {
  const field = fields[name];
  return field !== undefined && !needsRestart(field) && notesOf(field).noEffect === undefined;
};

/** Read each time when they are used, or compared by the reload itself. */
const readLate = [
  "compose-controllers.ts node-status-update-frequency",
  "compose-nodes.ts concurrent-node-syncs",
  "compose-services.ts concurrent-service-syncs",
  "compose-services.ts load-balancer-target-drain",
  "compose-volumes.ts concurrent-node-syncs",
  "open-clouds.ts cloud-call-timeout",
  "reload.ts drain-timeout",
  "reload.ts node-status-update-frequency",
];

test("the composition reads a flag that a reload applies only where it is read again", () => {
  const folders = ["src/app/manager", "src/app/leadership", "src/app/endpoints"];
  const found = folders.flatMap(filesIn).flatMap(([path, text]) =>
    // /configz shows the flags of the running manager at each request.
    path.endsWith("/configz.ts")
      ? []
      : [...text.matchAll(/\bflags(?:\["([a-z-]+)"\]|\.([a-z]+)\b)/g)]
          .map(([, quoted, plain]) => quoted ?? plain ?? "")
          .filter(isLive)
          .map((name) => `${path.split("/").at(-1)} ${name}`),
  );
  expect([...new Set(found)].toSorted()).toEqual(readLate);
});

const copiesSettings = (text: string): boolean => {
  const [constructorText = ""] = /\n {2}constructor\([\s\S]*?\) \{[\s\S]*?\n {2}\}/.exec(text) ?? [];
  return /\bsettings\.|\bsettings: *\{/.test(constructorText);
};

test("no constructor of a controller copies a setting", () => {
  expect(
    copiesSettings("class A {\n  constructor(deps: Deps) {\n    this.#limit = deps.settings.limit;\n  }"),
  ).toBe(true);
  const copies = [...filesIn("src/controllers"), ...filesIn("src/volumes")].filter(([, text]) =>
    copiesSettings(text),
  );
  expect(copies.map(([path]) => path)).toEqual([]);
});

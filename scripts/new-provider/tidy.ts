// The project's formatting for files that do not lie in it: names of different length and order break lines and sort
// imports anew. One run of the formatter for all files, in a folder that is gone afterwards.

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { repository } from "./skeleton.ts";

/** The project's rules for whatever lies beside them; its own say which of its folders they are for. */
export function rulesAnywhere(): string {
  const ours = JSON.parse(readFileSync(join(repository, "biome.json"), "utf8")) as Record<string, unknown>;
  const { $schema: _, ...rules } = ours;
  return JSON.stringify({ ...rules, root: true, files: { includes: ["**/*.ts"] } });
}

/** By path, which may be absolute; what is no TypeScript stays as it is. */
export function tidy(files: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  const folder = mkdtempSync(join(tmpdir(), "fairlead-new-"));
  try {
    writeFileSync(join(folder, "biome.json"), rulesAnywhere());
    for (const [path, text] of files) {
      mkdirSync(dirname(join(folder, "files", path)), { recursive: true });
      writeFileSync(join(folder, "files", path), text);
    }
    const biome = join(repository, "node_modules/.bin/biome");
    const { exitCode, stdout, stderr } = Bun.spawnSync([biome, "check", "--write", "files"], { cwd: folder });
    if (exitCode !== 0) throw new Error(`The files could not be formatted:\n${stdout}${stderr}`);
    return new Map(
      [...files.keys()].map((path) => [path, readFileSync(join(folder, "files", path), "utf8")]),
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

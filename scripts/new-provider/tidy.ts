// Formats files that are outside the repository by the project's rules, in one run of the formatter in a temporary folder.

import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { repository } from "./skeleton.ts";

/** The project's biome.json, changed to apply to all files beside it. */
export function portableRules(): string {
  const settings = JSON.parse(readFileSync(join(repository, "biome.json"), "utf8")) as Record<
    string,
    unknown
  >;
  const { $schema: _, ...rules } = settings;
  return JSON.stringify({ ...rules, root: true, files: { includes: ["**/*.ts"] } });
}

const biome = join(repository, "node_modules/.bin/biome");

/** Takes and returns contents by path. Files that are not TypeScript stay unchanged, as do all files if there is no formatter. */
export function tidy(files: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  if (!existsSync(biome)) return files;
  const folder = mkdtempSync(join(tmpdir(), "fairlead-new-"));
  try {
    writeFileSync(join(folder, "biome.json"), portableRules());
    for (const [path, text] of files) {
      mkdirSync(dirname(join(folder, "files", path)), { recursive: true });
      writeFileSync(join(folder, "files", path), text);
    }
    const { exitCode, stdout, stderr } = Bun.spawnSync([biome, "check", "--write", "files"], { cwd: folder });
    if (exitCode !== 0) throw new Error(`The files could not be formatted:\n${stdout}${stderr}`);
    return new Map(
      [...files.keys()].map((path) => [path, readFileSync(join(folder, "files", path), "utf8")]),
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

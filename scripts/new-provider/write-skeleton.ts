// Puts a skeleton on the disk, formatted as the project formats. What is there already is never touched: then nothing at
// all is written.

import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { repository, type Skeleton } from "./skeleton.ts";

/** Names of different length and order: lines are broken and imports sorted anew, by the project's rules. */
const format = async (path: string, text: string): Promise<string> => {
  if (!path.endsWith(".ts")) return text;
  const biome = Bun.spawn(
    [
      join(repository, "node_modules/.bin/biome"),
      "check",
      "--write",
      `--stdin-file-path=providers/new/${path.split("/").at(-1)}`,
    ],
    { cwd: repository, stdin: new Blob([text]), stdout: "pipe", stderr: "pipe" },
  );
  const [code, formatted, complaint] = await Promise.all([
    biome.exited,
    new Response(biome.stdout).text(),
    new Response(biome.stderr).text(),
  ]);
  if (code !== 0) throw new Error(`${path} could not be formatted:\n${complaint}`);
  return formatted;
};

/** The paths that are in the way; empty when all was written. */
export const writeSkeleton = async ({ files }: Skeleton): Promise<readonly string[]> => {
  const inTheWay = [...files.keys()].filter((path) => existsSync(path));
  if (inTheWay.length > 0) return inTheWay;
  const formatted = await Promise.all(
    [...files].map(async ([path, text]) => [path, await format(path, text)] as const),
  );
  for (const [path, text] of formatted) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }
  return [];
};

// Writes the files of a skeleton, formatted by the project's rules. If one of them already exists, it writes none.

import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import type { Skeleton } from "./skeleton.ts";
import { tidy } from "./tidy.ts";

/** The paths that already exist; empty when all files were written. */
export function writeSkeleton({ files }: Skeleton): readonly string[] {
  const existing = [...files.keys()].filter((path) => existsSync(path));
  if (existing.length > 0) return existing;
  for (const [path, text] of tidy(files)) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }
  return [];
}

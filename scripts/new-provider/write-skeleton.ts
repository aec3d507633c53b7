// Puts a skeleton on the disk, formatted as the project formats. What is there already is never touched: then nothing at
// all is written.

import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import type { Skeleton } from "./skeleton.ts";
import { tidy } from "./tidy.ts";

/** The paths that are in the way; empty when all was written. */
export function writeSkeleton({ files }: Skeleton): readonly string[] {
  const inTheWay = [...files.keys()].filter((path) => existsSync(path));
  if (inTheWay.length > 0) return inTheWay;
  for (const [path, text] of tidy(files)) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }
  return [];
}

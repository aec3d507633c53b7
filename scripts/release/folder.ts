// The folder of a release: the release empties it first, and writes its checksums last.

import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ScriptError } from "../command-line.ts";
import type { Subject } from "./provenance.ts";

const sumsFile = "SHA256SUMS";
/** Marks a folder that an interrupted release left. */
const unfinished = ".unfinished";

export class ReleaseFolder {
  readonly path: string;
  readonly #sums = new Map<string, string>();

  /** Throws if the folder has files that are not an earlier release. */
  constructor(path: string) {
    this.path = path;
    const files = existsSync(path) ? readdirSync(path) : [];
    if (files.length > 0 && !files.includes(sumsFile) && !files.includes(unfinished)) {
      throw new ScriptError(
        `${path} has files that are not of a release. Nothing is deleted; choose an empty folder.`,
      );
    }
    rmSync(path, { recursive: true, force: true });
    mkdirSync(path, { recursive: true });
    writeFileSync(join(path, unfinished), "");
  }

  at(name: string): string {
    return join(this.path, name);
  }

  /** Writes a file, and returns its size for the progress. */
  write(name: string, content: string | Uint8Array): string {
    writeFileSync(this.at(name), content);
    return megabytes(content.length);
  }

  /** All finished files with their checksums. A written file does not change afterwards. */
  subjects(): readonly Subject[] {
    return readdirSync(this.path)
      .filter((name) => name !== unfinished)
      .toSorted()
      .map((name) => ({ name, sha256: this.#sumOf(name) }));
  }

  #sumOf(name: string): string {
    const known = this.#sums.get(name);
    if (known !== undefined) return known;
    const sum = createHash("sha256")
      .update(readFileSync(this.at(name)))
      .digest("hex");
    this.#sums.set(name, sum);
    return sum;
  }

  /** Writes the checksums of all files, and returns them. */
  finish(): Uint8Array {
    const sums = this.subjects().map(({ name, sha256 }) => `${sha256}  ${name}\n`);
    const content = new TextEncoder().encode(sums.join(""));
    writeFileSync(this.at(sumsFile), content);
    rmSync(this.at(unfinished));
    return content;
  }
}

export function megabytes(bytes: number): string {
  return bytes < 1_000_000 ? `${Math.ceil(bytes / 1000)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}

// The released version and the commit of this repository.

import { readFileSync } from "node:fs";
import { resolve } from "node:path";

const root = resolve(import.meta.dir, "../..");

export interface Sources {
  /** The version in package.json. */
  readonly released: string;
  /** The version that an executable prints. */
  readonly version: string;
  /** Marked `.dirty` when the sources differ from the commit; empty outside a git checkout. */
  readonly commit: string;
  readonly isDirty: boolean;
  /** The time of the commit in seconds since 1970, for files in archives. */
  readonly time: number;
}

function git(...args: string[]): string {
  return Bun.spawnSync(["git", ...args], { cwd: root })
    .stdout.toString()
    .trim();
}

export function readSources(): Sources {
  const manifest = JSON.parse(readFileSync(resolve(root, "package.json"), "utf8")) as {
    readonly version: string;
    /** Set only in the published npm package, because there `git` would report the provider's repository. */
    readonly gitHead?: string;
    readonly gitTime?: number;
  };
  const { version: released, gitHead, gitTime = 0 } = manifest;
  const isPacked = gitHead !== undefined;
  const head = gitHead ?? git("rev-parse", "HEAD");
  const isDirty = !isPacked && head !== "" && git("status", "--porcelain", "--untracked-files=no") !== "";
  const commit = `${head}${isDirty ? ".dirty" : ""}`;
  const short = commit === "" ? "unknown" : commit.replace(/^(.{12})[0-9a-f]*/, "$1");
  return {
    released,
    version: `v${released}+${short}`,
    commit,
    isDirty,
    time: isPacked ? gitTime : Number(git("log", "-1", "--format=%ct")) || 0,
  };
}

// Files of the operator, read as a whole and not too long, with the version that each had: what is wrong with one is a
// problem that names it, never an exception.

import { messageOf } from "../../core/errors.ts";
import type { Problem } from "../../core/problem.ts";
import type { Files } from "../../platform/files.ts";

export type WholeFile = { readonly text: string } | { readonly problem: Problem };

export interface WholeFiles {
  /** `what` names it in messages: a flag, or what it is for. */
  read(path: string, what: string): Promise<WholeFile>;
  /** Of all that was read, by path. */
  readonly versions: ReadonlyMap<string, string | undefined>;
}

const longest = 256 * 1024;

export function wholeFiles(files: Pick<Files, "read" | "version">): WholeFiles {
  const versions = new Map<string, string | undefined>();
  return {
    versions,
    read: async (path, what) => {
      const refused = (reason: string, text: string): WholeFile => ({
        problem: { severity: "error", reason, key: what, text: `${path}: ${text}` },
      });
      try {
        // The version is taken before the content: a change in between is seen at the next look.
        versions.set(path, await files.version(path));
        const text = await files.read(path);
        if (text.length <= longest) return { text };
        return refused("FileTooLarge", `it has ${text.length} characters; at most ${longest} are read`);
      } catch (error) {
        return refused("UnreadableFile", `${what} cannot be read: ${messageOf(error)}`);
      }
    },
  };
}

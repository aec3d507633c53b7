// Reads the operator's files up to a size limit, and remembers the version of each, to detect changes. A file that
// cannot be read is a problem that names it, never an exception.

import { messageOf, runtimeCodeOf } from "../../core/error-message.ts";
import type { Problem } from "../../core/problem.ts";
import type { Files } from "../../platform/files.ts";

export type FileContent =
  | { readonly text: string }
  | { readonly problem: Problem; readonly isMissing: boolean };

const maxLength = 256 * 1024;

export class FileReader {
  readonly #files: Pick<Files, "read" | "version">;
  readonly #versions = new Map<string, string | undefined>();

  constructor(files: Pick<Files, "read" | "version">) {
    this.#files = files;
  }

  /** The version of each file that was read, by path. */
  get versions(): ReadonlyMap<string, string | undefined> {
    return this.#versions;
  }

  /** `what` names the file in messages: a flag, or the purpose of the file. */
  async read(path: string, what: string): Promise<FileContent> {
    const refuse = (reason: string, text: string, isMissing = false): FileContent => ({
      problem: { severity: "error", reason, key: what, text: `${path}: ${text}` },
      isMissing,
    });
    try {
      // The version is read before the content, so that the next check detects a change in between.
      this.#versions.set(path, await this.#files.version(path));
      const text = await this.#files.read(path);
      if (text.length <= maxLength) return { text };
      return refuse("FileTooLarge", `the file has ${text.length} characters; the limit is ${maxLength}`);
    } catch (error) {
      const isMissing = runtimeCodeOf(error) === "ENOENT";
      return refuse("UnreadableFile", `cannot read ${what}: ${messageOf(error)}`, isMissing);
    }
  }
}

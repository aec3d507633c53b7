// In-memory files for tests. Each write creates a new version of the file.

import type { Files } from "../../platform/files.ts";

interface MemoryFile {
  readonly content: string;
  readonly version: number;
}

export class MemoryFiles {
  readonly #contents = new Map<string, MemoryFile>();
  #lastVersion = 0;
  /** Files that were written as bytes. */
  readonly written = new Map<string, { readonly content: Uint8Array; readonly mode: number }>();

  /** The same files as the tested code sees them. They cannot run programs. */
  readonly files: Files = {
    read: async (path) => {
      const file = this.#contents.get(path);
      if (file === undefined) throw Object.assign(new Error(`no such file: ${path}`), { code: "ENOENT" });
      return file.content;
    },
    version: async (path) => this.#contents.get(path)?.version.toString(),
    write: async (path, content, mode) => {
      if (typeof content === "string") this.put(path, content);
      else this.written.set(path, { content, mode });
    },
    run: () => Promise.reject(new Error("MemoryFiles cannot run programs")),
  };

  constructor(contents: Readonly<Record<string, string>> = {}) {
    for (const [path, content] of Object.entries(contents)) this.put(path, content);
  }

  put(path: string, content: string): void {
    this.#contents.set(path, { content, version: ++this.#lastVersion });
  }

  remove(path: string): void {
    this.#contents.delete(path);
  }
}

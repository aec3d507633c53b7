// A disk in memory: what is written there is there at once, and each write is a new version.

import type { Files } from "../../platform/files.ts";

export interface MemoryFiles {
  readonly files: Files;
  put(path: string, content: string): void;
  remove(path: string): void;
}

export function memoryFiles(first: Readonly<Record<string, string>> = {}): MemoryFiles {
  const contents = new Map(Object.entries(first));
  const versions = new Map([...contents.keys()].map((path) => [path, 1]));
  const put = (path: string, content: string): void => {
    contents.set(path, content);
    versions.set(path, (versions.get(path) ?? 0) + 1);
  };
  const files: Files = {
    read: async (path) => {
      const content = contents.get(path);
      if (content === undefined) throw Object.assign(new Error(`there is no ${path}`), { code: "ENOENT" });
      return content;
    },
    version: async (path) => (contents.has(path) ? String(versions.get(path)) : undefined),
    write: async (path, content) => put(path, content),
    run: () => Promise.reject(new Error("There are no programs here.")),
  };
  return { files, put, remove: (path) => contents.delete(path) };
}

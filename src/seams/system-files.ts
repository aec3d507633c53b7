// Files and programs of the machine we run on.

import { readFile, stat, writeFile } from "node:fs/promises";
import type { Files } from "./files.ts";

export const systemFiles: Files = {
  read: (path) => readFile(path, "utf8"),
  version: async (path) => {
    try {
      // Follows links: a projected Secret changes its target, not its own time.
      const { ino, mtimeMs, size } = await stat(path);
      return `${ino}:${mtimeMs}:${size}`;
    } catch {
      return undefined;
    }
  },
  write: (path, content, mode) => writeFile(path, content, { mode }),
  run: async (command, env, signal) => {
    const child = Bun.spawn([...command], {
      env: { ...process.env, ...env },
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
      signal,
    });
    const [stdout, stderr, exitCode] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
      child.exited,
    ]);
    return { exitCode, stdout, stderr };
  },
};

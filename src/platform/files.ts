// The interface to the disk and to other programs (exec credentials), so that tests can rotate a token in memory, and
// its implementation with the operating system.

import { dirname } from "node:path";

export interface ProgramResult {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Files {
  /** Rejects with an error that has the system's `code` (`ENOENT`, `EACCES`, …). */
  read(path: string): Promise<string>;
  /** A text that changes when the content may have changed; undefined when the file does not exist. */
  version(path: string): Promise<string | undefined>;
  /** Writes atomically. Creates the folder, accessible only to this user, if it does not exist. */
  write(path: string, content: string | Uint8Array, mode: number): Promise<void>;
  /** The program inherits the open file `descriptor` as its descriptor 3. */
  run(
    command: readonly string[],
    env: Readonly<Record<string, string>>,
    signal: AbortSignal,
    descriptor?: number,
  ): Promise<ProgramResult>;
}

/** Loaded with the first file, because `--version` reads none and loading takes a sixth of its time. */
const disk = () => import("node:fs/promises");

/** The disk and the programs of this machine. */
export const systemFiles: Files = {
  read: async (path) => (await disk()).readFile(path, "utf8"),
  version: async (path) => {
    try {
      const { stat } = await disk();
      // Follows links, because an update of a projected Secret changes the target of the link.
      const { ino, mtimeMs, size } = await stat(path);
      return `${ino}:${mtimeMs}:${size}`;
    } catch {
      return undefined;
    }
  },
  write: async (path, content, mode) => {
    const { mkdir, rename, rm, writeFile } = await disk();
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    // Overwriting would keep the mode of an existing file, and readers could see it half written.
    const next = `${path}.new`;
    await rm(next, { force: true });
    await writeFile(next, content, { mode });
    await rename(next, path);
  },
  run: async (command, env, signal, descriptor) => {
    const child = Bun.spawn([...command], {
      env: { ...process.env, ...env },
      stdio: ["ignore", "pipe", "pipe", ...(descriptor === undefined ? [] : [descriptor])],
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

// The real implementation of `Disks`.

import { dirname } from "node:path";
import { runtimeCodeOf } from "../core/error-message.ts";
import type { Disks, Usage } from "./disks.ts";

const disk = () => import("node:fs/promises");

/** Other users must not read the content of a pod's mounts. */
const folderMode = 0o750;

function usageOf(size: number, blocks: number, free: number, available: number): Usage {
  return { total: blocks * size, available: available * size, used: (blocks - free) * size };
}

export const systemDisks: Disks = {
  stat: async (path) => {
    try {
      const found = await (await disk()).stat(path);
      const kind = found.isBlockDevice()
        ? "block"
        : found.isDirectory()
          ? "folder"
          : found.isFile()
            ? "file"
            : "other";
      return { kind, device: found.rdev };
    } catch (error) {
      if (runtimeCodeOf(error) === "ENOENT" || runtimeCodeOf(error) === "ENOTDIR") return undefined;
      throw error;
    }
  },
  hold: async (path) => {
    const { open, realpath, stat } = await disk();
    const file = await open(path, "r");
    const close = (): Promise<void> => file.close();
    try {
      const real = await realpath(path);
      const [opened, named] = [await file.stat(), await stat(real)];
      if (opened.isBlockDevice() && named.isBlockDevice() && opened.rdev === named.rdev)
        return { path: real, descriptor: file.fd, [Symbol.asyncDispose]: close };
    } catch (error) {
      await close();
      throw error;
    }
    await close();
    return undefined;
  },
  realPath: async (path) => (await disk()).realpath(path),
  makeFolder: async (path) => {
    await (await disk()).mkdir(path, { recursive: true, mode: folderMode });
  },
  makeFile: async (path) => {
    const { mkdir, open } = await disk();
    await mkdir(dirname(path), { recursive: true, mode: folderMode });
    await (await open(path, "a", 0o660)).close();
  },
  removeEmpty: async (path) => {
    const { lstat, rmdir, unlink } = await disk();
    const found = await lstat(path);
    if (found.isDirectory()) await rmdir(path);
    else if (found.isFile() && found.size === 0) await unlink(path);
    else throw new Error(`${path} is neither an empty folder nor an empty file, so it stays`);
  },
  head: async (path, length) => {
    const file = await (await disk()).open(path, "r");
    try {
      const { buffer, bytesRead } = await file.read(new Uint8Array(length), 0, length, 0);
      return buffer.subarray(0, bytesRead);
    } finally {
      await file.close();
    }
  },
  usage: async (path) => {
    const { bsize, blocks, bfree, bavail, files, ffree } = await (await disk()).statfs(path);
    return { bytes: usageOf(bsize, blocks, bfree, bavail), inodes: usageOf(1, files, ffree, ffree) };
  },
};

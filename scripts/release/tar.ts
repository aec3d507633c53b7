// The archives of a release, which depend only on their entries: the order is given, and owner and time are fixed. Pure.

import type { TarEntry } from "../../src/inspect/support/tar.ts";

export { type TarEntry, tar } from "../../src/inspect/support/tar.ts";

/** The folders above the paths, each once and before its content, for an archive that creates them. */
export function foldersOf(paths: readonly string[]): readonly TarEntry[] {
  const folders = paths.flatMap((path) => {
    const parts = path.replace(/\/$/, "").split("/").slice(0, -1);
    return parts.map((_, index) => `${parts.slice(0, index + 1).join("/")}/`);
  });
  return [...new Set(folders)].toSorted().map((path) => ({ path, mode: 0o755 }));
}

/** Compresses the same content to the same bytes: gzip without name and time. */
export function gzip(content: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  return Bun.gzipSync(content, { level: 6, library: "libdeflate" });
}

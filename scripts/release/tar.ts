// Writes tar archives (ustar) that depend on their entries only: the order is given, and owner and time are fixed. Pure.

export interface TarEntry {
  /** Without a slash at the beginning. Folders end with one. */
  readonly path: string;
  readonly mode: number;
  readonly content?: Uint8Array;
  /** Makes the entry a symbolic link. */
  readonly link?: string;
}

const block = 512;
const encoder = new TextEncoder();

function octal(value: number, digits: number): string {
  return `${value.toString(8).padStart(digits, "0")}\0`;
}

/** A path of more than 100 bytes is divided at a slash. */
function splitPath(path: string): readonly [prefix: string, name: string] {
  if (encoder.encode(path).length <= 100) return ["", path];
  const at = path.indexOf("/", path.length - 101);
  if (at === -1 || at > 155) throw new Error(`${path} is too long for a tar archive.`);
  return [path.slice(0, at), path.slice(at + 1)];
}

function typeOf({ path, link }: TarEntry): string {
  if (link !== undefined) return "2";
  return path.endsWith("/") ? "5" : "0";
}

function header(entry: TarEntry, seconds: number): Uint8Array {
  const bytes = new Uint8Array(block);
  const put = (at: number, text: string): void => bytes.set(encoder.encode(text), at);
  const [prefix, name] = splitPath(entry.path);
  put(0, name);
  put(100, octal(entry.mode, 7));
  put(108, octal(0, 7));
  put(116, octal(0, 7));
  put(124, octal(entry.content?.length ?? 0, 11));
  put(136, octal(seconds, 11));
  put(148, " ".repeat(8));
  put(156, typeOf(entry));
  put(157, entry.link ?? "");
  put(257, "ustar\0" + "00");
  put(265, "root");
  put(297, "root");
  put(345, prefix);
  put(
    148,
    `${octal(
      bytes.reduce((sum, byte) => sum + byte, 0),
      6,
    )} `,
  );
  return bytes;
}

/** All entries belong to root and have the given time. */
export function tar(entries: readonly TarEntry[], seconds: number): Uint8Array<ArrayBuffer> {
  const padded = (length: number): number => Math.ceil(length / block) * block;
  const total = entries.reduce((sum, { content }) => sum + block + padded(content?.length ?? 0), 2 * block);
  const archive = new Uint8Array(total);
  let at = 0;
  for (const entry of entries) {
    archive.set(header(entry, seconds), at);
    at += block;
    if (entry.content === undefined) continue;
    archive.set(entry.content, at);
    at += padded(entry.content.length);
  }
  return archive;
}

/** The folders above the paths, each once and before its content, for an archive that creates them. */
export function foldersOf(paths: readonly string[]): readonly TarEntry[] {
  const folders = paths.flatMap((path) => {
    const parts = path.replace(/\/$/, "").split("/").slice(0, -1);
    return parts.map((_, index) => `${parts.slice(0, index + 1).join("/")}/`);
  });
  return [...new Set(folders)].toSorted().map((path) => ({ path, mode: 0o755 }));
}

/** The same bytes for the same content: gzip without name and time. */
export function gzip(content: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  return Bun.gzipSync(content, { level: 6, library: "libdeflate" });
}

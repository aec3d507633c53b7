// Packs files into a tar archive in the ustar format, which every tar can read. Equal entries produce equal bytes. Pure.

export interface TarEntry {
  /** The path without a leading slash. Folders end with a slash. */
  readonly path: string;
  readonly mode: number;
  readonly content?: Uint8Array;
  /** Makes the entry a symbolic link. */
  readonly link?: string;
}

const block = 512;
const encoder = new TextEncoder();

const octal = (value: number, digits: number): string => `${value.toString(8).padStart(digits, "0")}\0`;

/** A path of more than 100 bytes is split at a slash. */
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
  // The checksum treats its own field as spaces.
  put(148, " ".repeat(8));
  put(156, typeOf(entry));
  put(157, entry.link ?? "");
  put(257, "ustar\0" + "00");
  put(265, "root");
  put(297, "root");
  put(345, prefix);
  const sum = bytes.reduce((total, byte) => total + byte, 0);
  put(148, `${octal(sum, 6)} `);
  return bytes;
}

/** All entries belong to root and have the given time, in seconds since 1970. */
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

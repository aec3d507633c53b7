// Writes cpio archives in the form of RPM (newc), which depend only on their entries. Pure.

export interface CpioEntry {
  /** The path without a slash at the beginning. */
  readonly path: string;
  /** The mode with the type of the file, as `stat` returns it. */
  readonly mode: number;
  /** The content; undefined for a folder. */
  readonly content?: Uint8Array;
}

const padded = (length: number): number => (length + 3) & ~3;

function header(
  name: Buffer,
  inode: number,
  { mode, content }: Omit<CpioEntry, "path">,
  seconds: number,
): Buffer {
  const links = content === undefined ? 2 : 1;
  const size = content?.length ?? 0;
  const fields = [inode, mode, 0, 0, links, seconds, size, 0, 0, 0, 0, name.length, 0];
  const digits = fields.map((field) => field.toString(16).padStart(8, "0")).join("");
  const bytes = Buffer.alloc(padded(110 + name.length));
  bytes.write(`070701${digits}`);
  bytes.set(name, 110);
  return bytes;
}

/** All entries belong to root and have the given time. */
export function cpio(entries: readonly CpioEntry[], seconds: number): Uint8Array<ArrayBuffer> {
  const end = { mode: 0, content: new Uint8Array() };
  const parts = [
    ...entries.flatMap((entry, index) => {
      const content = entry.content ?? new Uint8Array();
      return [
        header(Buffer.from(`./${entry.path}\0`), index + 1, entry, seconds),
        content,
        Buffer.alloc(padded(content.length) - content.length),
      ];
    }),
    header(Buffer.from("TRAILER!!!\0"), 0, end, 0),
  ];
  return new Uint8Array(Buffer.concat(parts));
}

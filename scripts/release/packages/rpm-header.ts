// The header structure of RPM: tagged values, an index of them, and their data. Pure.

/** Types of values, as RPM numbers them. */
const typeNumbers = { int16: 3, int32: 4, string: 6, binary: 7, strings: 8, translated: 9 } as const;

export type RpmValue =
  | { readonly type: "int16" | "int32"; readonly values: readonly number[] }
  | { readonly type: "string" | "translated"; readonly value: string }
  | { readonly type: "strings"; readonly values: readonly string[] }
  | { readonly type: "binary"; readonly value: Uint8Array };

export type RpmTags = ReadonlyMap<number, RpmValue>;

const text = (value: string): Buffer => Buffer.from(`${value}\0`);

function encoded(value: RpmValue): Buffer {
  if (value.type === "binary") return Buffer.from(value.value);
  if ("value" in value) return text(value.value);
  if (value.type === "strings") return Buffer.concat(value.values.map(text));
  const bytes = Buffer.alloc(value.values.length * alignmentOf(value));
  value.values.forEach((number, index) => {
    if (value.type === "int16") bytes.writeUInt16BE(number & 0xffff, index * 2);
    else bytes.writeUInt32BE(number >>> 0, index * 4);
  });
  return bytes;
}

function alignmentOf({ type }: RpmValue): number {
  return type === "int16" ? 2 : type === "int32" ? 4 : 1;
}

function countOf(value: RpmValue): number {
  if (value.type === "binary") return value.value.length;
  return "values" in value ? value.values.length : 1;
}

function indexEntry(tag: number, type: number, offset: number, count: number): Buffer {
  const entry = Buffer.alloc(16);
  for (const [index, number] of [tag, type, offset, count].entries()) entry.writeInt32BE(number, index * 4);
  return entry;
}

/** The whole header. `region` is the tag of the region that covers it, to which a signature applies. */
export function rpmHeader(region: number, tags: RpmTags): Buffer {
  const entries: Buffer[] = [];
  const data: Buffer[] = [];
  let length = 0;
  const append = (bytes: Buffer): void => {
    data.push(bytes);
    length += bytes.length;
  };
  for (const [tag, value] of [...tags].toSorted(([a], [b]) => a - b)) {
    append(Buffer.alloc(-length & (alignmentOf(value) - 1)));
    entries.push(indexEntry(tag, typeNumbers[value.type], length, countOf(value)));
    append(encoded(value));
  }
  const size = entries.length + 1;
  // The region ends with an entry that points to its beginning.
  entries.unshift(indexEntry(region, typeNumbers.binary, length, 16));
  append(indexEntry(region, typeNumbers.binary, -size * 16, 16));
  const intro = Buffer.from([0x8e, 0xad, 0xe8, 0x01, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
  intro.writeUInt32BE(size, 8);
  intro.writeUInt32BE(length, 12);
  return Buffer.concat([intro, ...entries, ...data]);
}

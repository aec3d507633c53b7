// Encodes and decodes the protobuf messages (proto3) that a table describes. Their types are inferred from the table.

/** A field: its number, `repeated` for a list, and its type: a scalar, `map` (string to string), or the name of an enum or a message. */
type FieldText = `${number} ${string}`;

export interface Schema {
  readonly messages: Readonly<Record<string, Readonly<Record<string, FieldText>>>>;
  /** The values by name. The value with the number 0 is the default, and stands for unknown values. */
  readonly enums: Readonly<Record<string, Readonly<Record<string, number>>>>;
}

interface Scalars {
  readonly string: string;
  readonly bool: boolean;
  readonly int32: number;
  /** Exact up to 2^53, which is 8 PiB for a size in bytes. */
  readonly int64: number;
  readonly map: Readonly<Record<string, string>>;
}

type TypeName<Text> = Text extends `${number} ${infer T}` ? T : never;

type ReceivedValue<S extends Schema, T> = T extends `repeated ${infer Element}`
  ? readonly Exclude<ReceivedValue<S, Element>, undefined>[]
  : T extends keyof Scalars
    ? Scalars[T]
    : T extends keyof S["enums"]
      ? keyof S["enums"][T]
      : T extends keyof S["messages"]
        ? Received<S, T> | undefined
        : never;

/** A decoded message. A scalar that was not sent has its default; a message that was not sent is undefined. */
export type Received<S extends Schema, N extends keyof S["messages"]> = {
  readonly [F in keyof S["messages"][N]]: ReceivedValue<S, TypeName<S["messages"][N][F]>>;
};

type SentValue<S extends Schema, T> = T extends `repeated ${infer Element}`
  ? readonly SentValue<S, Element>[]
  : T extends keyof Scalars
    ? Scalars[T]
    : T extends keyof S["enums"]
      ? keyof S["enums"][T]
      : T extends keyof S["messages"]
        ? Sent<S, T>
        : never;

/** A message to encode. A missing field is not sent, and neither is a scalar's default. */
export type Sent<S extends Schema, N extends keyof S["messages"]> = {
  readonly [F in keyof S["messages"][N]]?: SentValue<S, TypeName<S["messages"][N][F]>> | undefined;
};

/** Bytes that are not a message of the table. */
export class MalformedMessage extends Error {
  override readonly name = "MalformedMessage";
}

type Values = Record<string, unknown>;

interface Field {
  readonly name: string;
  readonly number: number;
  readonly type: string;
  readonly isRepeated: boolean;
}

function fieldOf(name: string, text: FieldText): Field {
  const [number = "", ...words] = text.split(" ");
  return { name, number: Number(number), type: words.at(-1) ?? "", isRepeated: words[0] === "repeated" };
}

const [varint, eightBytes, lengthDelimited, fourBytes] = [0, 1, 2, 5];
/** No sensible schema nests messages more deeply. */
const maxDepth = 32;
const mapEntry = [fieldOf("key", "1 string"), fieldOf("value", "2 string")];
const utf8 = { encoder: new TextEncoder(), decoder: new TextDecoder("utf-8", { fatal: true }) };

export class Codec<S extends Schema> {
  readonly #enums: Schema["enums"];
  readonly #fields: ReadonlyMap<string, readonly Field[]>;

  constructor(schema: S) {
    this.#enums = schema.enums;
    const fieldsOf = (name: string): readonly Field[] =>
      Object.entries(schema.messages[name] ?? {}).map(([field, text]) => fieldOf(field, text));
    this.#fields = new Map(Object.keys(schema.messages).map((name) => [name, fieldsOf(name)]));
  }

  encode<N extends keyof S["messages"] & string>(name: N, message: Sent<S, N>): Uint8Array {
    const writer = new Writer();
    this.#write(this.#fields.get(name) ?? [], message as Values, writer);
    return writer.bytes();
  }

  /** Throws a MalformedMessage. As proto3 requires, unknown fields are ignored. */
  decode<N extends keyof S["messages"] & string>(name: N, bytes: Uint8Array): Received<S, N> {
    return this.#read(this.#fields.get(name) ?? [], new Reader(bytes), 0) as Received<S, N>;
  }

  #write(fields: readonly Field[], message: Values, writer: Writer): void {
    for (const field of fields) {
      const value = message[field.name];
      if (value === undefined) continue;
      if (field.isRepeated)
        for (const each of value as readonly unknown[]) this.#writeOne(field, each, writer);
      else if (field.type === "map") {
        for (const [key, each] of Object.entries(value as Readonly<Record<string, string>>))
          this.#writeNested(field.number, mapEntry, { key, value: each }, writer);
      } else if (value !== this.#defaultOf(field.type)) this.#writeOne(field, value, writer);
    }
  }

  #writeOne({ number, type }: Field, value: unknown, writer: Writer): void {
    const fields = this.#fields.get(type);
    const values = this.#enums[type];
    if (fields !== undefined) this.#writeNested(number, fields, value as Values, writer);
    else if (type === "string") writer.bytesField(number, utf8.encoder.encode(value as string));
    else {
      writer.varint(number * 8 + varint);
      writer.varint(Number(values === undefined ? value : values[value as string]));
    }
  }

  #writeNested(number: number, fields: readonly Field[], message: Values, writer: Writer): void {
    const nested = new Writer();
    this.#write(fields, message, nested);
    writer.bytesField(number, nested.bytes());
  }

  #defaultOf(type: string): unknown {
    const values = this.#enums[type];
    if (values !== undefined) return Object.keys(values).find((name) => values[name] === 0);
    if (type === "map") return {};
    return type === "string" ? "" : type === "bool" ? false : this.#fields.has(type) ? undefined : 0;
  }

  #read(fields: readonly Field[], reader: Reader, depth: number, before?: Values): Values {
    if (depth > maxDepth) throw new MalformedMessage(`It is nested deeper than ${maxDepth} messages.`);
    const message =
      before ??
      Object.fromEntries(
        fields.map(({ name, type, isRepeated }) => [name, isRepeated ? [] : this.#defaultOf(type)]),
      );
    while (!reader.isAtEnd) {
      const tag = reader.varint();
      const wireType = Number(tag & 7n);
      const field = fields.find(({ number }) => BigInt(number) === tag >> 3n);
      const isVarint = field !== undefined && this.#isVarint(field.type);
      if (field === undefined || wireType !== (isVarint ? varint : lengthDelimited)) reader.skip(wireType);
      else this.#readField(field, reader, depth, message);
    }
    return message;
  }

  #isVarint(type: string): boolean {
    return type !== "string" && type !== "map" && !this.#fields.has(type);
  }

  #readField({ name, type, isRepeated }: Field, reader: Reader, depth: number, message: Values): void {
    if (type === "map") {
      const entry = this.#read(mapEntry, reader.nested(), depth + 1);
      // Not an assignment, because a key may be `__proto__`.
      Object.defineProperty(message[name], String(entry["key"]), {
        value: entry["value"],
        configurable: true,
        enumerable: true,
        writable: true,
      });
      return;
    }
    // As proto3 requires, a message in several parts is merged.
    const before = isRepeated ? undefined : (message[name] as Values | undefined);
    const value = this.#readOne(type, reader, depth, before);
    if (isRepeated) (message[name] as unknown[]).push(value);
    else message[name] = value;
  }

  #readOne(type: string, reader: Reader, depth: number, before: Values | undefined): unknown {
    const fields = this.#fields.get(type);
    if (fields !== undefined) return this.#read(fields, reader.nested(), depth + 1, before);
    if (type === "string") return reader.text();
    const number = reader.varint();
    if (type === "bool") return number !== 0n;
    if (type === "int64") return Number(BigInt.asIntN(64, number));
    const value = Number(BigInt.asIntN(32, number));
    const values = this.#enums[type];
    if (values === undefined) return value;
    return Object.keys(values).find((name) => values[name] === value) ?? this.#defaultOf(type);
  }
}

class Writer {
  readonly #parts: Uint8Array[] = [];

  bytes(): Uint8Array {
    return Buffer.concat(this.#parts);
  }

  bytesField(number: number, bytes: Uint8Array): void {
    this.varint(number * 8 + lengthDelimited);
    this.varint(bytes.length);
    this.#parts.push(bytes);
  }

  varint(value: number): void {
    const bytes: number[] = [];
    let rest = BigInt.asUintN(64, BigInt(Math.trunc(value)));
    for (; rest >= 128n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128);
    this.#parts.push(Uint8Array.from([...bytes, Number(rest)]));
  }
}

class Reader {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  get isAtEnd(): boolean {
    return this.#at === this.#bytes.length;
  }

  varint(): bigint {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = this.#take(1)[0] ?? 0;
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return BigInt.asUintN(64, value);
    }
    throw new MalformedMessage("It has a number with more than 10 bytes.");
  }

  nested(): Reader {
    return new Reader(this.#take(Number(this.varint())));
  }

  text(): string {
    try {
      return utf8.decoder.decode(this.#take(Number(this.varint())));
    } catch (error) {
      if (error instanceof MalformedMessage) throw error;
      throw new MalformedMessage("It has a string that is not UTF-8.", { cause: error });
    }
  }

  skip(wireType: number): void {
    if (wireType === varint) this.varint();
    else if (wireType === eightBytes) this.#take(8);
    else if (wireType === lengthDelimited) this.#take(Number(this.varint()));
    else if (wireType === fourBytes) this.#take(4);
    else throw new MalformedMessage(`It has a field of the wire type ${wireType}.`);
  }

  #take(length: number): Uint8Array {
    const end = this.#at + length;
    if (end > this.#bytes.length) throw new MalformedMessage("It ends in the middle of a field.");
    const taken = this.#bytes.subarray(this.#at, end);
    this.#at = end;
    return taken;
  }
}

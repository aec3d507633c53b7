// Encodes DER, the binary form of certificates: tag, length, content. Does not decode. Pure.

export type Bytes = Uint8Array<ArrayBuffer>;

function concatBytes(parts: readonly Uint8Array[]): Bytes {
  const result = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
  let offset = 0;
  for (const part of parts) {
    result.set(part, offset);
    offset += part.length;
  }
  return result;
}

/** One byte below 128; otherwise the number of length bytes, followed by these bytes. */
export function derLength(length: number): Bytes {
  if (length < 0x80) return Uint8Array.of(length);
  const bytes: number[] = [];
  for (let left = length; left > 0; left = Math.floor(left / 256)) bytes.unshift(left % 256);
  return Uint8Array.of(0x80 | bytes.length, ...bytes);
}

export function der(tag: number, ...content: readonly Uint8Array[]): Bytes {
  const body = concatBytes(content);
  return concatBytes([Uint8Array.of(tag), derLength(body.length), body]);
}

export const sequence = (...items: readonly Uint8Array[]): Bytes => der(0x30, ...items);
export const setOf = (...items: readonly Uint8Array[]): Bytes => der(0x31, ...items);

/** A context tag around an element (`explicit`) or in place of its tag (`implicit`). */
export function explicit(number: number, ...content: readonly Uint8Array[]): Bytes {
  return der(0xa0 | number, ...content);
}
export const implicit = (number: number, content: Uint8Array): Bytes => der(0x80 | number, content);

/** A positive integer from its bytes, without leading zeros except one where the top bit would make the number negative. */
export function integer(magnitude: Uint8Array): Bytes {
  const start = magnitude.findIndex((byte) => byte !== 0);
  const digits = start < 0 ? Uint8Array.of(0) : magnitude.slice(start);
  return der(0x02, (digits[0] ?? 0) >= 0x80 ? concatBytes([Uint8Array.of(0), digits]) : digits);
}

export function smallInteger(value: number): Bytes {
  const bytes: number[] = [];
  for (let left = value; left > 0; left = Math.floor(left / 256)) bytes.unshift(left % 256);
  return integer(Uint8Array.from(bytes));
}

export const boolean = (value: boolean): Bytes => der(0x01, Uint8Array.of(value ? 0xff : 0));
export const octets = (content: Uint8Array): Bytes => der(0x04, content);
export const bits = (content: Uint8Array, unused = 0): Bytes => der(0x03, Uint8Array.of(unused), content);
export const utf8 = (text: string): Bytes => der(0x0c, new TextEncoder().encode(text));

export function objectID(dotted: string): Bytes {
  const [first = 0, second = 0, ...others] = dotted.split(".").map(Number);
  const bytes = [first * 40 + second];
  for (const part of others) {
    const digits = [part % 128];
    for (let left = Math.floor(part / 128); left > 0; left = Math.floor(left / 128)) {
      digits.unshift(0x80 | (left % 128));
    }
    bytes.push(...digits);
  }
  return der(0x06, Uint8Array.from(bytes));
}

/** Two-digit years until 2049, four digits after, as X.509 requires. */
export function time(at: number): Bytes {
  const digits = new Date(at).toISOString().replace(/[-:T]|\..*/g, "");
  const isShort = Number(digits.slice(0, 4)) < 2050;
  return der(isShort ? 0x17 : 0x18, new TextEncoder().encode(`${isShort ? digits.slice(2) : digits}Z`));
}

export function pem(label: string, content: Uint8Array): string {
  const lines =
    Buffer.from(content)
      .toString("base64")
      .match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join("\n")}\n-----END ${label}-----\n`;
}

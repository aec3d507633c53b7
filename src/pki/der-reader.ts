// Decodes DER from untrusted sources with strict limits: definite minimal lengths, one-byte tags, a
// limited number of elements, and no trailing bytes. Pure.

/** The bytes are not as expected. The message describes the problem without showing the bytes. */
export class InvalidDer extends Error {
  override readonly name = "InvalidDer";
}

export interface DerElement {
  readonly tag: number;
  readonly content: Uint8Array;
  /** Tag, length and content, which signatures cover. */
  readonly whole: Uint8Array;
}

const maxElements = 256;

function readElement(bytes: Uint8Array, start: number): DerElement {
  const tag = bytes[start] ?? 0;
  const first = bytes[start + 1];
  if (first === undefined) throw new InvalidDer("an element is truncated");
  if ((tag & 0x1f) === 0x1f) throw new InvalidDer("a tag has several bytes");
  let length = first;
  let at = start + 2;
  if (first >= 0x80) {
    const count = first & 0x7f;
    if (count === 0 || count > 3) throw new InvalidDer("a length is indefinite or too large");
    length = 0;
    for (const byte of bytes.subarray(at, at + count)) length = length * 256 + byte;
    at += count;
    if (at > bytes.length || length < 0x80 || length < 256 ** (count - 1))
      throw new InvalidDer("a length is truncated or not minimal");
  }
  if (at + length > bytes.length) throw new InvalidDer("an element is truncated");
  return { tag, content: bytes.subarray(at, at + length), whole: bytes.subarray(start, at + length) };
}

/** All elements of a content, which they must fill exactly. */
export function elementsIn(content: Uint8Array): readonly DerElement[] {
  const elements: DerElement[] = [];
  for (let at = 0; at < content.length; ) {
    if (elements.length === maxElements) throw new InvalidDer(`more than ${maxElements} elements`);
    const element = readElement(content, at);
    elements.push(element);
    at += element.whole.length;
  }
  return elements;
}

/** Reads the only element. Throws unless there is exactly one. */
export function onlyElement(bytes: Uint8Array, tag: number, what: string): DerElement {
  const [element, ...others] = elementsIn(bytes);
  if (element === undefined || others.length > 0) throw new InvalidDer(`${what} is not one element`);
  return withTag(element, tag, what);
}

export function withTag(element: DerElement | undefined, tag: number, what: string): DerElement {
  if (element?.tag !== tag) throw new InvalidDer(`${what} has a different type or is missing`);
  return element;
}

/** In dotted form. */
export function objectIDOf({ content }: DerElement): string {
  const last = content.at(-1);
  if (last === undefined || last >= 0x80 || content.length > 32)
    throw new InvalidDer("an object identifier is malformed");
  const parts: number[] = [];
  let value = 0;
  let digits = 0;
  for (const byte of content) {
    digits += 1;
    if ((digits === 1 && byte === 0x80) || digits > 4)
      throw new InvalidDer("an object identifier is malformed");
    value = value * 128 + (byte & 0x7f);
    if (byte >= 0x80) continue;
    parts.push(value);
    [value, digits] = [0, 0];
  }
  const [head = 0, ...tail] = parts;
  const first = Math.min(2, Math.floor(head / 40));
  return [first, head - first * 40, ...tail].join(".");
}

// Packs texts into a tar archive in the ustar format, which every tar reads. Pure.

export interface TarEntry {
  /** A path of ASCII characters, at most 100 of them. */
  readonly name: string;
  readonly content: string;
}

const block = 512;

function header(name: string, size: number, modifiedAt: number): Uint8Array {
  const bytes = new Uint8Array(block);
  const put = (at: number, text: string): void => void bytes.set(new TextEncoder().encode(text), at);
  const octal = (value: number, digits: number): string =>
    `${Math.floor(value).toString(8).padStart(digits, "0")}\0`;
  put(0, name);
  put(100, octal(0o600, 7));
  put(108, octal(0, 7));
  put(116, octal(0, 7));
  put(124, octal(size, 11));
  put(136, octal(modifiedAt / 1000, 11));
  // The checksum counts its own field as spaces.
  put(148, "        ");
  put(156, "0");
  put(257, "ustar\x0000");
  const sum = bytes.reduce((total, byte) => total + byte, 0);
  put(148, `${sum.toString(8).padStart(6, "0")}\0 `);
  return bytes;
}

/** `modifiedAt` in milliseconds since 1970. */
export function tar(entries: readonly TarEntry[], modifiedAt: number): Uint8Array {
  const parts = entries.flatMap(({ name, content }) => {
    const data = new TextEncoder().encode(content);
    const padding = new Uint8Array((block - (data.length % block)) % block);
    return [header(name, data.length, modifiedAt), data, padding];
  });
  parts.push(new Uint8Array(2 * block));
  const whole = new Uint8Array(parts.reduce((total, { length }) => total + length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

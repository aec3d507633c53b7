// DER encoding, property-based: lengths and integers read back as written. Whole certificates are in
// authority.test.ts.

import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { der, derLength, integer, objectID, octets, smallInteger, time } from "../../src/pki/der.ts";

const readLength = (bytes: Uint8Array): number => {
  const [first = 0, ...rest] = bytes;
  return first < 0x80 ? first : rest.reduce((length, byte) => length * 256 + byte, 0);
};

describe("DER", () => {
  test("DER encodes every length in the fewest bytes", () => {
    fc.assert(
      fc.property(fc.nat(0x7fff_ffff), (length) => {
        const bytes = derLength(length);
        expect(readLength(bytes)).toBe(length);
        expect(bytes.length).toBe(length < 0x80 ? 1 : 1 + Math.ceil(Math.log2(length + 1) / 8));
      }),
    );
  });

  test("DER encodes integers as positive numbers in the shortest form, and reads the same values back", () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 20 }), (magnitude) => {
        const [tag, length, ...digits] = integer(magnitude);
        expect(tag).toBe(2);
        expect(length).toBe(digits.length);
        expect((digits[0] ?? 0) < 0x80).toBe(true);
        if (digits.length > 1 && digits[0] === 0) expect((digits[1] ?? 0) >= 0x80).toBe(true);
        const read = (bytes: Iterable<number>) => BigInt(`0x${Buffer.from([...bytes]).toString("hex")}`);
        expect(read(digits)).toBe(read(magnitude));
      }),
    );
  });

  test("DER wraps content with its tag and its length", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 400 }), (content) => {
        const bytes = octets(content);
        expect(bytes[0]).toBe(4);
        expect(bytes.slice(bytes.length - content.length)).toEqual(Uint8Array.from(content));
        expect(bytes.length).toBe(1 + derLength(content.length).length + content.length);
      }),
    );
  });

  test.each([
    ["an object id", objectID("1.2.840.10045.4.3.2"), "06082a8648ce3d040302"],
    ["zero", smallInteger(0), "020100"],
    ["128", smallInteger(128), "02020080"],
    ["an empty sequence", der(0x30), "3000"],
    ["a time before 2050", time(Date.UTC(2026, 0, 2, 3, 4, 5)), "170d3236303130323033303430355a"],
    ["a time after 2050", time(Date.UTC(2050, 0, 1)), "180f32303530303130313030303030305a"],
  ])("writes %s as the standard prescribes", (_, bytes, hex) => {
    expect(Buffer.from(bytes).toString("hex")).toBe(hex);
  });
});

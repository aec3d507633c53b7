// IP addresses and ranges: tables of spellings, and a big-integer model for the arithmetic.

import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { cidr, cidrContains, cidrFamily, cidrOfIp, parseCidr, prefixLength } from "../../src/core/cidr.ts";
import { compareIp, ipAddress, ipFamily, isSameIp, parseIp } from "../../src/core/ip.ts";

const spellings = [
  ["10.0.0.1", "10.0.0.1", "10.0.0.1"],
  ["010.000.0.001", undefined, "10.0.0.1"],
  ["255.255.255.255", "255.255.255.255", "255.255.255.255"],
  ["256.0.0.1", undefined, undefined],
  ["1.2.3", undefined, undefined],
  ["1.2.3.4.5", undefined, undefined],
  [" 1.2.3.4", undefined, undefined],
  ["1.2.3.+4", undefined, undefined],
  ["", undefined, undefined],
  [":", undefined, undefined],
  [":::", undefined, undefined],
  ["::", "::", "::"],
  ["::1", "::1", "::1"],
  ["1::", "1::", "1::"],
  ["2001:DB8:0:0:0:0:0:1", "2001:db8::1", "2001:db8::1"],
  ["2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"],
  ["1:0:0:2:0:0:0:3", "1:0:0:2::3", "1:0:0:2::3"],
  ["0:0:1:2:3:4:5:6", "::1:2:3:4:5:6", "::1:2:3:4:5:6"],
  ["1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0", "1:2:3:4:5:6:7:0"],
  ["1:2:3:4:5:6:7:8::", undefined, undefined],
  ["1::2::3", undefined, undefined],
  ["1:2:3:4:5:6:7", undefined, undefined],
  ["12345::", undefined, undefined],
  ["00001::", undefined, "1::"],
  ["::ffff:10.0.0.1", "10.0.0.1", "10.0.0.1"],
  ["::ffff:010.0.0.1", undefined, "10.0.0.1"],
  ["::ffff:a00:1", "10.0.0.1", "10.0.0.1"],
  ["64:ff9b::1.2.3.4", "64:ff9b::102:304", "64:ff9b::102:304"],
  ["1.2.3.4::", undefined, undefined],
  ["fe80::1%eth0", undefined, undefined],
] as const;

test.each(spellings)(
  "the IP parser reads %p as %p in the strict form and as %p in the sloppy form",
  (text, strict, sloppy) => {
    expect<string | undefined>(parseIp(text)).toBe(strict);
    expect<string | undefined>(parseIp(text, "sloppy")).toBe(sloppy);
  },
);

test.each([
  ["10.1.2.3/8", "10.0.0.0/8"],
  ["10.0.0.0/08", undefined],
  ["0.0.0.0/0", "0.0.0.0/0"],
  ["10.0.0.0/33", undefined],
  ["10.0.0.0", undefined],
  ["10.0.0.0/", undefined],
  ["10.0.0.0/8/8", undefined],
  ["2001:db8:ffff::/32", "2001:db8::/32"],
  ["::ffff:10.1.0.0/104", "10.0.0.0/8"],
  ["::ffff:10.1.0.0/80", "::/80"],
  ["::/0", "::/0"],
  ["::/129", undefined],
] as const)("the CIDR parser reads the range %p as %p", (text, expected) => {
  expect<string | undefined>(parseCidr(text)).toBe(expected);
});

test("the CIDR parser accepts leading zeros in a range in the sloppy form", () => {
  expect<string | undefined>(parseCidr("010.0.0.0/08", "sloppy")).toBe("10.0.0.0/8");
});

test("ipFamily and cidrFamily return the family, with IPv4 for mapped addresses", () => {
  expect(["10.0.0.1", "::ffff:10.0.0.1", "::1"].map((text) => ipFamily(ipAddress(text)))).toEqual([
    "IPv4",
    "IPv4",
    "IPv6",
  ]);
  expect(cidrFamily(cidr("10.0.0.0/8"))).toBe("IPv4");
  expect(cidrFamily(cidr("::/0"))).toBe("IPv6");
});

test("isSameIp compares texts by value, not by spelling", () => {
  expect(isSameIp("010.0.0.1", "::ffff:10.0.0.1")).toBe(true);
  expect(isSameIp("node-1", "node-1")).toBe(false);
});

test("an invalid address constant throws an error with the expected form", () => {
  expect(() => ipAddress("x")).toThrow('Expected an IP address, got "x".');
  expect(() => cidr("10.0.0.0")).toThrow('Expected a CIDR such as "10.0.0.0/8", got "10.0.0.0".');
});

describe("address arithmetic, against a model of big integers", () => {
  const mapped = 0xffffn << 32n;
  const number = fc.oneof(
    fc.bigInt({ min: 0n, max: (1n << 32n) - 1n }).map((value) => mapped + value),
    fc.bigInt({ min: 0n, max: (1n << 128n) - 1n }),
    // Only a few bits are set, to get long runs of zeros and adjacent addresses.
    fc
      .array(fc.integer({ min: 0, max: 127 }), { maxLength: 4 })
      .map((bits) => bits.reduce((sum, bit) => sum | (1n << BigInt(bit)), 0n)),
  );
  const isModelIPv4 = (value: bigint): boolean => value >> 32n === 0xffffn;
  const spelled = (value: bigint): string =>
    Array.from({ length: 8 }, (_, index) =>
      ((value >> BigInt(112 - index * 16)) & 0xffffn).toString(16),
    ).join(":");
  const ipOf = (value: bigint) => ipAddress(spelled(value));
  const masked = (value: bigint, bits: number): bigint => (value >> BigInt(128 - bits)) << BigInt(128 - bits);
  const range = fc.tuple(number, fc.integer({ min: 0, max: 128 }));

  test("a parsed address keeps its canonical form when it is parsed again", () => {
    fc.assert(
      fc.property(number, (value) => {
        const ip = ipOf(value);
        expect(parseIp(ip)).toBe(ip);
        expect(isSameIp(ip, spelled(value))).toBe(true);
        expect(ipFamily(ip)).toBe(isModelIPv4(value) ? "IPv4" : "IPv6");
      }),
    );
  });

  test("sorts IPv4 first, then by number", () => {
    fc.assert(
      fc.property(number, number, (one, other) => {
        const byFamily = Number(isModelIPv4(other)) - Number(isModelIPv4(one));
        const expected = byFamily || (one < other ? -1 : one > other ? 1 : 0);
        expect(compareIp(ipOf(one), ipOf(other))).toBe(expected);
      }),
    );
  });

  test("a range drops host bits and contains every address with the same prefix", () => {
    fc.assert(
      fc.property(range, number, ([base, bits], flips) => {
        const network = masked(base, bits);
        const near = network | (flips & ((1n << BigInt(128 - bits)) - 1n));
        const outer = cidr(`${spelled(base)}/${bits}`);
        const isIPv4 = isModelIPv4(network) && bits >= 96;
        expect(prefixLength(outer)).toBe(isIPv4 ? bits - 96 : bits);
        expect(cidrContains(outer, ipOf(near))).toBe(isModelIPv4(near) === isIPv4);
        expect(cidrContains(outer, ipOf(flips))).toBe(
          masked(flips, bits) === network && isModelIPv4(flips) === isIPv4,
        );
      }),
    );
  });

  test("nests ranges consistently", () => {
    fc.assert(
      fc.property(range, range, ([one, oneBits], [other, otherBits]) => {
        const a = cidr(`${spelled(one)}/${oneBits}`);
        const b = cidr(`${spelled(other)}/${otherBits}`);
        expect(cidrContains(a, b) && cidrContains(b, a)).toBe(a === b);
        expect(cidrContains(a, cidrOfIp(ipAddress(a.slice(0, a.indexOf("/")))))).toBe(
          cidrFamily(a) === ipFamily(ipAddress(a.slice(0, a.indexOf("/")))),
        );
      }),
    );
  });

  test("a node selector never throws on any text", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.stringMatching(/^[0-9a-f:./]{0,30}$/)), (text) => {
        for (const form of ["strict", "sloppy"] as const) {
          const ip = parseIp(text, form);
          if (ip !== undefined) expect(parseIp(ip)).toBe(ip);
          const parsed = parseCidr(text, form);
          if (parsed !== undefined) expect(parseCidr(parsed)).toBe(parsed);
        }
      }),
    );
  });
});

import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { boolean, der, objectID, octets, pem, sequence } from "../../src/pki/der.ts";
import { elementsIn, InvalidDer, objectIDOf, onlyElement } from "../../src/pki/der-reader.ts";
import { parseSigningRequest } from "../../src/pki/signing-request.ts";
import { extensionOf, signingRequest, signingRequestBytes } from "../support/create-signing-request.ts";

const commonName = "system:node:worker-1";
const label = "CERTIFICATE REQUEST";

test("reads the subject, the DNS names and the IP addresses of a signing request [F83]", () => {
  const text = signingRequest({
    commonName,
    dnsNames: ["worker-1", "worker-1.example.com"],
    addresses: ["10.0.0.7", "2001:db8::7"],
  });
  expect(parseSigningRequest(text)).toEqual({
    commonNames: [commonName],
    organizations: ["system:nodes"],
    dnsNames: ["worker-1", "worker-1.example.com"],
    addresses: ["10.0.0.7", "2001:db8::7"],
    others: [],
  });
});

test("reads a signing request without names", () => {
  expect(parseSigningRequest(signingRequest({ commonName }))).toMatchObject({ dnsNames: [], addresses: [] });
});

test("lists everything else that a signing request contains [F83]", () => {
  const text = signingRequest({
    commonName,
    uris: ["spiffe://x"],
    emails: ["a@example.com"],
    extensions: [extensionOf("2.5.29.19", sequence(boolean(true)))],
    attributes: { "2.5.4.6": "DE" },
  });
  expect(parseSigningRequest(text).others).toEqual([
    "subject attribute 2.5.4.6",
    "a URI",
    "an email address",
    "extension 2.5.29.19",
  ]);
});

test("keeps a byte order mark in a signing request, so that its name differs from the user's name [F83]", () => {
  const text = signingRequest({ commonName: `\uFEFF${commonName}`, organizations: ["\uFEFFsystem:nodes"] });
  expect(parseSigningRequest(text)).toMatchObject({
    commonNames: [`\uFEFF${commonName}`],
    organizations: ["\uFEFFsystem:nodes"],
  });
});

const namesOf = (name: string) => octets(sequence(der(0x82, Uint8Array.from(Buffer.from(name)))));
const bytes = signingRequestBytes({ commonName, dnsNames: ["worker-1"] });

test.each([
  ["another label", pem("CERTIFICATE", bytes), "not one PEM block"],
  ["two blocks", pem(label, bytes) + pem(label, bytes), "not one PEM block"],
  ["no PEM", "hello", "not one PEM block"],
  [
    "a megabyte",
    `-----BEGIN ${label}-----\n${"A".repeat(1_000_000)}\n-----END ${label}-----`,
    "more than 16384",
  ],
  ["bytes after the end", pem(label, Uint8Array.from([...bytes, 0, 0])), "not one element"],
  ["a truncated end", pem(label, bytes.slice(0, -1)), "truncated"],
  ["another element", pem(label, octets(bytes)), "a different type"],
  ["a signature of another key", signingRequest({ commonName, isForged: true }), "does not fit its key"],
  [
    "two lists of names",
    signingRequest({
      commonName,
      dnsNames: ["a"],
      extensions: [extensionOf("2.5.29.17", sequence(der(0x82, Uint8Array.from([98]))))],
    }),
    "several lists of names",
  ],
  // Go, which signs the request, ignores what follows the first value.
  ...[[], [boolean(true)]].map(
    (critical) =>
      [
        `${critical.length === 0 ? "an" : "a critical"} extension of two values`,
        signingRequest({
          commonName,
          extensions: [
            sequence(objectID("2.5.29.17"), ...critical, namesOf("kubernetes.default"), namesOf("worker-1")),
          ],
        }),
        "several values",
      ] as const,
  ),
  [
    "an IP address of five bytes",
    signingRequest({
      commonName,
      extensions: [extensionOf("2.5.29.17", sequence(der(0x87, new Uint8Array(5))))],
    }),
    "has 5 bytes",
  ],
  [
    "a DNS name with a zero byte",
    signingRequest({ commonName, dnsNames: ["worker-1\0.example.com"] }),
    "not ASCII",
  ],
])("rejects a signing request with %s [F83]", (_, text, why) => {
  expect(() => parseSigningRequest(text)).toThrow(InvalidDer);
  expect(() => parseSigningRequest(text)).toThrow(why);
});

test("rejects every signing request with one changed byte, or reads the same content [F83]", () => {
  const original = parseSigningRequest(pem(label, bytes));
  for (let index = 0; index < bytes.length; index += 1) {
    const changed = bytes.slice();
    changed[index] = (changed[index] ?? 0) ^ 0x01;
    let parsed: unknown = original;
    try {
      parsed = parseSigningRequest(pem(label, changed));
    } catch (error) {
      expect(error).toBeInstanceOf(InvalidDer);
    }
    expect(parsed).toEqual(original);
  }
});

describe("the DER reader", () => {
  test("for any input, the DER reader throws InvalidDer or returns elements that cover the input", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), (input) => {
        try {
          const elements = elementsIn(input);
          expect(elements.reduce((sum, { whole }) => sum + whole.length, 0)).toBe(input.length);
        } catch (error) {
          expect(error).toBeInstanceOf(InvalidDer);
        }
      }),
    );
  });

  test.each([
    ["an indefinite length", [0x30, 0x80, 0, 0], "indefinite"],
    ["a length of four bytes", [0x30, 0x84, 0, 0, 0, 1, 0], "too large"],
    ["a length that is not minimal", [0x30, 0x81, 0x01, 0], "not minimal"],
    ["a tag of several bytes", [0x3f, 0x81, 0x01, 0], "several bytes"],
    ["a missing length", [0x30], "truncated"],
  ])("the DER reader rejects %s", (_, input, why) => {
    expect(() => elementsIn(Uint8Array.from(input))).toThrow(why);
  });

  test("the DER reader rejects more than 256 elements", () => {
    expect(() => elementsIn(new Uint8Array(600))).toThrow("more than 256 elements");
  });

  test.each(["1.2.840.113549.1.9.14", "2.5.29.17", "0.9.2342"])(
    "the DER reader reads the object id %s",
    (dotted) => {
      expect(objectIDOf(onlyElement(objectID(dotted), 6, "it"))).toBe(dotted);
    },
  );
});

import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { csiSchema } from "../../../src/volumes/csi/spec.ts";
import { Codec, MalformedMessage } from "../../../src/volumes/grpc/messages.ts";

const codec = new Codec(csiSchema);
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");
const bytesOf = (text: string): Uint8Array => Buffer.from(text.replaceAll(" ", ""), "hex");

const map = fc.dictionary(fc.string(), fc.string(), { maxKeys: 4 });
const topology = fc.record({ segments: map });
const capability = fc.oneof(
  fc.record({
    accessMode: fc.record({ mode: fc.constantFrom("SINGLE_NODE_WRITER", "MULTI_NODE_MULTI_WRITER") }),
    block: fc.constant({}),
    mount: fc.constant(undefined),
  }),
  fc.record({
    accessMode: fc.constant(undefined),
    block: fc.constant(undefined),
    mount: fc.record({
      fsType: fc.string(),
      mountFlags: fc.array(fc.string({ unit: "binary" }), { maxLength: 3 }),
      volumeMountGroup: fc.string(),
    }),
  }),
);
const request = fc.record({
  name: fc.string({ unit: "binary" }),
  capacityRange: fc.option(
    fc.record({ requiredBytes: fc.maxSafeInteger(), limitBytes: fc.maxSafeInteger() }),
    {
      nil: undefined,
    },
  ),
  volumeCapabilities: fc.array(capability, { maxLength: 3 }),
  parameters: map,
  secrets: map,
  volumeContentSource: fc.constant(undefined),
  accessibilityRequirements: fc.option(
    fc.record({ requisite: fc.array(topology, { maxLength: 3 }), preferred: fc.array(topology) }),
    { nil: undefined },
  ),
  mutableParameters: map,
});

describe("protobuf messages", () => {
  test("protobuf messages decode to the encoded value", () => {
    fc.assert(
      fc.property(request, (message) => {
        const bytes = codec.encode("CreateVolumeRequest", message as never);
        expect(codec.decode("CreateVolumeRequest", bytes)).toEqual(message as never);
      }),
    );
  });

  test("protobuf messages have the bytes that the encoding defines", () => {
    const bytes = codec.encode("NodeGetInfoResponse", {
      nodeID: "7",
      maxVolumesPerNode: 300,
      accessibleTopology: { segments: { a: "b" } },
    });
    expect(hex(bytes)).toBe("0a013710ac021a080a060a0161120162");
  });

  test("protobuf messages omit defaults, and contain empty messages that are set", () => {
    const sent = { accessMode: { mode: "UNKNOWN" }, block: {} } as const;
    expect(hex(codec.encode("VolumeCapability", sent))).toBe("1a000a00");
    expect(codec.decode("VolumeCapability", bytesOf("0a00"))).toEqual({
      accessMode: undefined,
      block: {},
      mount: undefined,
    });
  });

  test("protobuf messages keep negative numbers and the largest exact integer", () => {
    const range = { requiredBytes: -1, limitBytes: Number.MAX_SAFE_INTEGER };
    expect(codec.decode("CapacityRange", codec.encode("CapacityRange", range))).toEqual(range);
  });

  test("protobuf messages ignore fields and enum values that are not in the table", () => {
    // Field 99 as varint, 8 bytes, bytes and 4 bytes; field 1 with the wrong wire type.
    const unknown = "980601 99060000000000000000 9a0602abcd 9d0600000000 0d00000000";
    expect(codec.decode("ListVolumesRequest", bytesOf(`${unknown} 0805 120178`))).toEqual({
      maxEntries: 5,
      startingToken: "x",
    });
    expect(codec.decode("VolumeCapability.AccessMode", bytesOf("0863"))).toEqual({ mode: "UNKNOWN" });
  });

  test("protobuf messages merge a message that comes in two parts", () => {
    const twice = bytesOf("12040801 1002 12021005");
    expect(codec.decode("CreateVolumeRequest", twice).capacityRange).toEqual({
      requiredBytes: 1,
      limitBytes: 5,
    });
  });

  test("protobuf messages keep a map key that is called __proto__", () => {
    const segments = JSON.parse('{"__proto__": "x"}') as Record<string, string>;
    const decoded = codec.decode("Topology", codec.encode("Topology", { segments }));
    expect(Object.entries(decoded.segments)).toEqual([["__proto__", "x"]]);
  });

  test("protobuf messages are rejected when they are truncated", () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1 }), fc.nat(), (name, cut) => {
        const whole = codec.encode("CreateVolumeRequest", { name });
        const part = whole.subarray(0, 1 + (cut % (whole.length - 1)));
        expect(() => codec.decode("CreateVolumeRequest", part)).toThrow(MalformedMessage);
      }),
    );
  });

  test("protobuf messages from random bytes decode or are rejected, without any other failure", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        try {
          codec.decode("CreateVolumeRequest", bytes);
        } catch (error) {
          expect(error).toBeInstanceOf(MalformedMessage);
        }
      }),
      { numRuns: 1000 },
    );
  });

  const malformed: readonly (readonly [string, string, string])[] = [
    ["a length beyond the end", "0aff01 61", "It ends in the middle of a field."],
    ["a number of 11 bytes", "08ffffffffffffffffffff01", "It has a number with more than 10 bytes."],
    ["a string that is not UTF-8", "0a02c328", "It has a string that is not UTF-8."],
    ["a group", "0b", "It has a field of the wire type 3."],
  ];
  test.each(malformed)("protobuf messages are rejected with %s", (_, bytes, text) => {
    expect(() => codec.decode("CreateVolumeRequest", bytesOf(bytes))).toThrow(text);
  });

  test("protobuf messages are rejected when they are nested too deeply", () => {
    const nested = new Codec({ messages: { Node: { child: "1 Node" } }, enums: {} });
    let bytes = new Uint8Array();
    for (let depth = 0; depth < 40; depth += 1) bytes = Uint8Array.from([0x0a, bytes.length, ...bytes]);
    expect(() => nested.decode("Node", bytes)).toThrow("It is nested deeper than 32 messages.");
  });
});

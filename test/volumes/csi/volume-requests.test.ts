import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { volumeDriver as driver } from "../../../providers/fake/volumes.ts";
import type { ObservedVolume } from "../../../src/provider/volumes.ts";
import {
  type Message,
  pageOf,
  readParameters,
  readSize,
  readTopologies,
  refusedCapability,
} from "../../../src/volumes/csi/volume-requests.ts";

const gibibyte = 2 ** 30;
const zone = "topology.fake.example/zone";
const volume = (id: string): ObservedVolume => ({
  id,
  name: `pvc-${id}`,
  size: gibibyte,
  topology: { [zone]: "a" },
  attachedTo: [],
  device: "/dev/x",
  state: "ready",
});

describe("the size of a volume", () => {
  const { sizes } = driver;
  const cases: readonly (readonly [string, number, number, number])[] = [
    ["is the smallest one without a request", 0, 0, 1],
    ["is the next step of a request", gibibyte + 1, 0, 2],
    ["is at least the smallest one", 1, 0, 1],
    ["may be the limit", 2 * gibibyte, 2 * gibibyte, 2],
  ];
  test.each(cases)("%s", (_, requiredBytes, limitBytes, gibibytes) => {
    expect(readSize({ requiredBytes, limitBytes }, sizes).size).toBe(gibibytes * gibibyte);
  });

  const refused: readonly (readonly [string, number, number, string])[] = [
    [
      "a limit below the step",
      gibibyte + 1,
      gibibyte + 2,
      "No volume has a size of 1073741825 bytes to 1073741826 bytes",
    ],
    [
      "more than the cloud has",
      2000 * gibibyte,
      0,
      "No volume has a size of 2000Gi: sizes are 1Gi to 1024Gi",
    ],
    ["a negative size", -1, 0, "The capacity range has a negative size."],
  ];
  test.each(refused)("the size of a volume is rejected for %s", (_, requiredBytes, limitBytes, text) => {
    expect(() => readSize({ requiredBytes, limitBytes }, sizes)).toThrow(text);
  });

  test("the size of a volume is always a step within the request", () => {
    fc.assert(
      fc.property(fc.nat({ max: 1023 }), fc.nat({ max: gibibyte }), (steps, more) => {
        const requiredBytes = steps * gibibyte + more;
        const { size, limit } = readSize({ requiredBytes, limitBytes: 0 }, sizes);
        expect([size >= requiredBytes, size <= limit, size % sizes.step]).toEqual([true, true, 0]);
      }),
    );
  });
});

describe("the topology of a volume", () => {
  const at = (segments: Readonly<Record<string, string>>) => ({ segments });

  test("a volume has the preferred topology first, without keys of other drivers", () => {
    const requirement = {
      requisite: [at({ [zone]: "a" })],
      preferred: [at({ other: "x" }), at({ [zone]: "b", other: "x" })],
    };
    expect(readTopologies(requirement, driver)).toEqual([{ [zone]: "b" }, { [zone]: "a" }]);
    expect(readTopologies(undefined, driver)).toEqual([]);
  });

  test("the topology of a volume is rejected without the key of the driver, and never replaced by a default", () => {
    expect(() => readTopologies({ requisite: [at({ other: "x" })], preferred: [] }, driver)).toThrow(
      "No topology of the request has topology.fake.example/zone",
    );
  });
});

describe("the parameters of a StorageClass", () => {
  test("the parameters of a StorageClass have defaults, completed by the claim", () => {
    const raw = {
      tier: "fast",
      "csi.storage.k8s.io/pvc/name": "data",
      "csi.storage.k8s.io/pvc/namespace": "shop",
      "csi.storage.k8s.io/pv/name": "pvc-7",
    };
    const { values, claim, warnings } = readParameters(raw, driver);
    expect([values.tier, claim, warnings]).toEqual([
      "fast",
      { namespace: "shop", name: "data", volume: "pvc-7" },
      [],
    ]);
    expect(readParameters({}, driver)).toEqual({
      values: { tier: "standard" },
      claim: undefined,
      warnings: [],
    } as never);
  });

  test("the parameters of a StorageClass with a misspelled value are rejected with a suggestion", () => {
    expect(() => readParameters({ tier: "fasst" }, driver)).toThrow('did you mean "fast"?');
  });

  test("the parameters of a StorageClass with an unknown name are used without it, and the name is reported", () => {
    expect(readParameters({ teir: "fast" }, driver).warnings).toEqual([
      'teir is not a known parameter; did you mean "tier"?',
    ]);
  });
});

test("only access modes for one machine are supported", () => {
  const capability = (
    mode: string,
    more: object = { mount: { fsType: "", mountFlags: [], volumeMountGroup: "" } },
  ) => ({ accessMode: { mode }, block: undefined, mount: undefined, ...more }) as Message<"VolumeCapability">;
  expect(refusedCapability(capability("SINGLE_NODE_WRITER"))).toBeUndefined();
  expect(refusedCapability(capability("SINGLE_NODE_MULTI_WRITER", { block: {} }))).toBeUndefined();
  expect(refusedCapability(capability("MULTI_NODE_MULTI_WRITER"))).toContain("Use ReadWriteOnce");
  expect(refusedCapability(capability("SINGLE_NODE_WRITER", {}))).toBe(
    "The volume capability has no access type.",
  );
  expect(refusedCapability(undefined)).toBe("The volume capability is missing.");
});

describe("pages of volumes", () => {
  const all = ["9", "10", "2"].map(volume);
  const page = (startingToken: string, maxEntries = 2) => {
    const found = pageOf(all, { startingToken, maxEntries });
    return [found.page.map(({ id }) => id), found.nextToken];
  };

  test("pages of volumes continue after the last volume, even when it is gone", () => {
    expect([page(""), page("after:9"), page("after:5"), page("", 0)]).toEqual([
      [["2", "9"], "after:9"],
      [["10"], ""],
      [["9", "10"], ""],
      [["2", "9", "10"], ""],
    ]);
  });

  test("pages of volumes are rejected for an unknown token", () => {
    expect(() => page("7")).toThrow('Unknown starting token "7". Begin without one.');
  });
});

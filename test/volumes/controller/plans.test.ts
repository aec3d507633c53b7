import { describe, expect, test } from "bun:test";
import { volumeDriver as driver } from "../../../providers/fake/volumes.ts";
import type {
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  StorageClass,
} from "../../../src/kube/objects.ts";
import { attacherFinalizer, sidecarLeases } from "../../../src/volumes/controller/names.ts";
import { sizeToExpandTo } from "../../../src/volumes/controller/plan-expansion.ts";
import { placesFor, spreadOf } from "../../../src/volumes/controller/topology.ts";

const metadata = (name: string) => ({ name, uid: `uid-${name}`, resourceVersion: "1" });
const gibibyte = 2 ** 30;

describe("names", () => {
  test("finalizers and Leases have the same names as in the sidecars", () => {
    expect(attacherFinalizer("csi.hetzner.cloud")).toBe("external-attacher/csi-hetzner-cloud");
    expect(attacherFinalizer("odd.")).toBe("external-attacher/odd-X");
    expect(sidecarLeases("csi.hetzner.cloud")).toEqual([
      "csi-hetzner-cloud",
      "external-attacher-leader-csi-hetzner-cloud",
      "external-resizer-csi-hetzner-cloud",
      "external-snapshotter-leader-csi-hetzner-cloud",
    ]);
  });
});

describe("the place of a volume", () => {
  const zoneKey = "topology.fake.example/zone";
  const node = (name: string, zone: string): Node => ({
    metadata: { ...metadata(name), labels: { "topology.kubernetes.io/zone": zone } },
    spec: { providerID: `fake://${name}` },
    status: {},
  });
  const nodes = [node("1", "a"), node("2", "b"), node("3", "c"), node("4", "b")];
  const storageClass = (fields: Partial<StorageClass> = {}): StorageClass => ({
    metadata: metadata("fake"),
    provisioner: driver.name,
    ...fields,
  });
  const claim = (
    name: string,
    annotations: Readonly<Record<string, string>> = {},
  ): PersistentVolumeClaim => ({
    metadata: { ...metadata(name), annotations },
  });
  const zones = (...args: Parameters<typeof placesFor>) => placesFor(...args).map((place) => place[zoneKey]);

  // From the code of external-provisioner.
  test.each([
    ["data", 1_959_470_013],
    ["data-web-0", 1_181_096_325],
    ["data-web-1", 1_181_096_326],
    ["logs-web-1", 1_181_096_326],
    ["data-0", 1_959_470_013],
    ["a-b-c", 2_706_662_859],
  ] as const)("spreads the place of a volume by the name %s as upstream does", (name, expected) => {
    expect(spreadOf(name)).toBe(expected);
  });

  test("chooses a different zone for each replica of a StatefulSet, and the same zone for all claims of a replica", () => {
    const first = (name: string) => zones(claim(name), storageClass(), nodes, driver)[0];
    expect(new Set([first("data-web-0"), first("data-web-1"), first("data-web-2")]).size).toBe(3);
    expect(first("logs-web-1")).toBe(first("data-web-1") as string);
  });

  test("chooses the zone of the selected Node first, and then every other zone with a Node", () => {
    const selected = claim("data", { "volume.kubernetes.io/selected-node": "4" });
    expect(zones(selected, storageClass(), nodes, driver)).toEqual(["b", "c", "a"]);
  });

  test("chooses one of the allowed topologies, even without a Node there", () => {
    const allowedTopologies = [{ matchLabelExpressions: [{ key: zoneKey, values: ["c", "d"] }] }];
    expect(zones(claim("data"), storageClass({ allowedTopologies }), nodes, driver).toSorted()).toEqual([
      "c",
      "d",
    ]);
  });

  test("accepts an allowed topology under a former key of the driver", () => {
    const former = { ...driver, topologyAliases: { "topology.fake.example/former": zoneKey } };
    const allowedTopologies = [
      { matchLabelExpressions: [{ key: "topology.fake.example/former", values: ["c"] }] },
    ];
    expect(placesFor(claim("data"), storageClass({ allowedTopologies }), nodes, former)).toEqual([
      { [zoneKey]: "c" },
    ]);
  });
});

describe("an expansion", () => {
  interface State {
    readonly size?: number;
    readonly asked?: number;
    readonly current?: number;
    readonly allocated?: number;
    readonly state?: string;
    readonly isPending?: true;
  }
  const sizeOf = ({ size = 1, asked = 3, current = 1, allocated, state, isPending }: State) => {
    const claim = {
      metadata: metadata("data"),
      spec: { resources: { requests: { storage: `${asked}Gi` } } },
      status: {
        phase: "Bound",
        capacity: { storage: `${current}Gi` },
        ...(allocated !== undefined && { allocatedResources: { storage: `${allocated}Gi` } }),
        ...(state !== undefined && { allocatedResourceStatuses: { storage: state } }),
        ...(isPending && { conditions: [{ type: "FileSystemResizePending", status: "True" }] }),
      },
    } as unknown as PersistentVolumeClaim;
    const volume = {
      metadata: metadata("pv"),
      spec: {
        capacity: { storage: `${size}Gi` },
        claimRef: { uid: "uid-data" },
        csi: { driver: driver.name, volumeHandle: "v1" },
      },
    } as unknown as PersistentVolume;
    const bytes = sizeToExpandTo(claim, volume, driver.name);
    return bytes === undefined ? undefined : bytes / gibibyte;
  };

  // The table of external-resizer's expandAndRecover.
  test.each<[string, State, number | undefined]>([
    ["the claim requests nothing", { asked: 1 }, undefined],
    ["the claim requests more", {}, 3],
    [
      "an expansion to a different size is in progress",
      { allocated: 2, state: "ControllerResizeInProgress" },
      2,
    ],
    [
      "an expansion was impossible, and the claim requests less now",
      { allocated: 9, state: "ControllerResizeInfeasible" },
      3,
    ],
    [
      "the kubelet is expanding the file system",
      { size: 3, allocated: 3, state: "NodeResizePending" },
      undefined,
    ],
    [
      "the kubelet is expanding the file system, and the claim requests more",
      { size: 2, allocated: 2, state: "NodeResizeInProgress" },
      undefined,
    ],
    ["the kubelet has failed", { size: 3, allocated: 3, state: "NodeResizeInfeasible" }, 3],
    [
      "the volume was expanded and the claim does not show it",
      { size: 3, allocated: 3, state: "ControllerResizeInProgress" },
      3,
    ],
    ["an older server has only the condition", { size: 3, isPending: true }, undefined],
  ])("an expansion is planned correctly when %s", (_, state, expected) => {
    expect(sizeOf(state)).toBe(expected);
  });
});

// Snapshots, with a cloud that shows false states: nothing is believed that only one read shows.

import { describe, expect, test } from "bun:test";
import { VirtualClock } from "#ccm/testing";
import type { ObservedSnapshot, ObservedVolume, Volumes } from "../../../src/provider/volumes.ts";
import { failureOf } from "../../../src/testing/conformance/lab.ts";
import { CloudVolumes } from "../../../src/volumes/csi/cloud-volumes.ts";
import { RpcError } from "../../../src/volumes/grpc/status.ts";

const { signal } = new AbortController();
const gibibyte = 2 ** 30;
const zone = (name: string) => ({ zone: name });

const disk: ObservedVolume = {
  id: "v1",
  name: "pvc-1",
  size: gibibyte,
  topology: zone("a"),
  device: "",
  attachedTo: [],
  state: "ready",
};
const shown = (more: Partial<ObservedSnapshot> = {}): ObservedSnapshot => ({
  id: "s1",
  name: "snapshot-1",
  volumeID: "v1",
  size: gibibyte,
  createdAt: new Date(0),
  state: "ready",
  ...more,
});

/** Listings show `all`, and lookups `one`, regardless of changes. */
function lying({ all = [], one }: { all?: readonly ObservedSnapshot[]; one?: ObservedSnapshot | undefined }) {
  const changes: string[] = [];
  const done = { done: true } as const;
  const changed = async (what: string, id = "s1") => {
    changes.push(what);
    return { ...done, id };
  };
  const unused = () => Promise.reject(new Error("not expected"));
  const volumes: Volumes = {
    list: async function* () {
      yield [];
    },
    get: async (id) => (id === "v1" ? disk : id === "v2" ? { ...disk, id } : undefined),
    create: () => changed("create volume", "v2"),
    remove: unused,
    attach: unused,
    detach: unused,
    expand: unused,
    snapshots: {
      list: async function* () {
        yield all;
      },
      get: async () => one,
      create: () => changed("create"),
      remove: () => changed("remove"),
    },
  };
  const cloud = new CloudVolumes({ volumes, pending: undefined, clock: new VirtualClock(), life: signal });
  if (cloud.snapshots === undefined) throw new Error("no snapshots");
  return { cloud, snapshots: cloud.snapshots, changes };
}

const failure = async (work: Promise<unknown>): Promise<string> => {
  const error = await failureOf(work);
  return error instanceof RpcError ? `${error.code}: ${error.message}` : String(error);
};
const request = { name: "snapshot-1", volumeID: "v1" };

describe("a snapshot", () => {
  test("a snapshot that is not visible after its creation does not count as created", async () => {
    const { snapshots, changes } = lying({ one: undefined });
    expect(await failure(snapshots.create(request, signal))).toBe(
      "UNAVAILABLE: Snapshot snapshot-1 (s1) was created according to the cloud, but it does not exist. Try again.",
    );
    expect(changes).toEqual(["create"]);
  });

  test("a snapshot that is visible after its deletion does not count as deleted", async () => {
    const { snapshots } = lying({ one: shown() });
    expect(await failure(snapshots.remove("s1", signal))).toBe(
      "UNAVAILABLE: Snapshot snapshot-1 (s1) was deleted according to the cloud, but it still exists. Try again.",
    );
  });

  test("a snapshot that only a listing shows does not count as gone", async () => {
    const { snapshots, changes } = lying({ all: [shown()], one: undefined });
    expect(await failure(snapshots.remove("s1", signal))).toBe(
      "UNAVAILABLE: Snapshot snapshot-1 (s1) does not exist according to a lookup, but a cloud listing shows it. It counts as unchanged. Try again.",
    );
    expect(changes).toEqual([]);
  });

  test("a snapshot is not deleted while it is being created", async () => {
    const { snapshots, changes } = lying({ one: shown({ state: "creating" }) });
    expect(await failure(snapshots.remove("s1", signal))).toStartWith("ABORTED: ");
    expect(changes).toEqual([]);
  });

  test("a snapshot that the cloud failed to create is neither used nor recreated", async () => {
    const { snapshots, changes } = lying({ all: [shown({ state: "failed" })] });
    expect(await failure(snapshots.create(request, signal))).toBe(
      "INTERNAL: The cloud failed to create Snapshot snapshot-1 (s1). Delete it in the cloud; it is then created again.",
    );
    expect(changes).toEqual([]);
  });

  test("a snapshot is deleted again if its creation fails in the cloud, because it would block the deletion of the volume", async () => {
    const { snapshots, changes } = lying({ one: shown({ state: "failed" }) });
    expect(await failure(snapshots.create(request, signal))).toBe(
      "RESOURCE_EXHAUSTED: The cloud could not create the snapshot snapshot-1 (s1), so it is deleted again.",
    );
    expect(changes).toEqual(["create", "remove"]);
  });

  test("a snapshot is used even if the cloud no longer shows its volume", async () => {
    const { snapshots, changes } = lying({ all: [shown({ volumeID: "", state: "uploading" })] });
    expect((await snapshots.create(request, signal)).id).toBe("s1");
    expect(changes).toEqual([]);
  });

  test("a snapshot is not confused with another snapshot of its name", async () => {
    const { snapshots } = lying({ all: [shown(), shown({ id: "s2" })] });
    expect(await failure(snapshots.create(request, signal))).toBe(
      "INTERNAL: 2 snapshots have the name snapshot-1: s1, s2. None is used. Delete those without data in the cloud.",
    );
  });
});

describe("a volume from a snapshot", () => {
  const wanted = {
    name: "pvc-2",
    range: { size: gibibyte, limit: gibibyte },
    parameters: {},
    claim: undefined,
    places: [zone("a"), zone("b")],
    source: { kind: "snapshot", id: "s1" } as const,
  };
  const cases: readonly (readonly [string, Partial<ObservedSnapshot>, string])[] = [
    [
      "uploading",
      { state: "uploading" },
      "UNAVAILABLE: Volume pvc-2 cannot be created from snapshot s1: it is being created or changed. Try again.",
    ],
    [
      "failed",
      { state: "failed" },
      "FAILED_PRECONDITION: Volume pvc-2 cannot be created from snapshot s1: the cloud failed to create it.",
    ],
    [
      "larger",
      { size: 2 * gibibyte },
      "OUT_OF_RANGE: Volume pvc-2 cannot be created from snapshot s1: its size is 2Gi, and the claim asks for 1Gi. Ask for at least 2Gi in the claim.",
    ],
    [
      "in another zone",
      { topology: zone("c") },
      "RESOURCE_EXHAUSTED: Volume pvc-2 cannot be created from snapshot s1: it is in c, where the claim cannot use a volume. Choose a Node there.",
    ],
  ];
  test.each(cases)(
    "a volume from a snapshot is not created while the snapshot is %s",
    async (_, more, text) => {
      const { cloud, changes } = lying({ one: shown(more) });
      expect(await failure(cloud.create(wanted, signal))).toBe(text);
      expect(changes).toEqual([]);
    },
  );

  test("a volume from a snapshot is created in the place of the snapshot", async () => {
    const { cloud, changes } = lying({ one: shown({ topology: zone("b") }) });
    expect((await cloud.create(wanted, signal)).id).toBe("v2");
    expect(changes).toEqual(["create volume"]);
  });
});

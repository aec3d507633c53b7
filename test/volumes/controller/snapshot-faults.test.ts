// Snapshots when objects vanish, are replaced or share a snapshot, and when the cloud answers only
// in part: data is never exchanged for other data, and no snapshot is left behind in the cloud.

import { afterEach, describe, expect, test } from "bun:test";
import { SnapshotWorld } from "../../support/snapshot-world.ts";

let world: SnapshotWorld | undefined;
afterEach(async () => {
  await world?.stop();
  expect(world?.unexpectedErrors ?? []).toEqual([]);
});

async function withClaim(): Promise<SnapshotWorld> {
  const w = new SnapshotWorld();
  world = w;
  await w.start();
  w.claim("data");
  await w.until(() => w.isBound("data"), "bound");
  w.write("data", "first");
  return w;
}

async function withSnapshot(): Promise<SnapshotWorld> {
  const w = await withClaim();
  w.snapshot("backup", "data");
  await w.until(() => w.isReady("backup"), "ready");
  return w;
}

const contentOf = (w: SnapshotWorld, name: string) =>
  w.contents().find(({ spec }) => spec.volumeSnapshotRef.name === name);

/** A VolumeSnapshotContent that a user prepares for an existing snapshot. */
const prepare = (w: SnapshotWorld, name: string, snapshotHandle: string, deletionPolicy = "Delete"): void =>
  w.createContent(name, {
    deletionPolicy,
    source: { snapshotHandle },
    volumeSnapshotRef: { name: `of-${name}`, namespace: "default" },
  });

describe("a VolumeSnapshot", () => {
  test("a ready VolumeSnapshot never gets newer data when its VolumeSnapshotContent and its snapshot are lost", async () => {
    const w = await withSnapshot();
    w.write("data", "second");
    const name = contentOf(w, "backup")?.metadata.name ?? "";
    w.changeContent(name, ({ metadata, ...rest }) => ({
      ...rest,
      metadata: { ...metadata, finalizers: [] },
    }));
    w.deleteContent(name);
    w.cloud.snapshots.remove("s1");
    await w.until(() => w.findSnapshot("backup")?.status?.error !== undefined, "an error");
    await w.pass(600);
    expect([w.contents(), w.cloud.snapshots.list()]).toEqual([[], []]);
    expect(w.getSnapshot("backup").status).toMatchObject({
      error: { message: "VolumeSnapshotContent is missing" },
      readyToUse: false,
    });
    w.deleteSnapshot("backup");
    await w.until(() => w.findSnapshot("backup") === undefined, "deleted");
  });

  test("a VolumeSnapshot reports that its VolumeSnapshotContent does not exist, and is bound when it exists", async () => {
    const w = await withSnapshot();
    w.snapshot("of-old", "", { source: { volumeSnapshotContentName: "old" } });
    const message = () => w.findSnapshot("of-old")?.status?.error?.message;
    await w.until(() => message() !== undefined, "a message");
    expect(message()).toBe("VolumeSnapshotContent is missing");
    expect(w.getSnapshot("of-old").metadata.finalizers).toBeUndefined();
    prepare(w, "old", "s1");
    await w.until(() => w.isReady("of-old"), "ready");
  });

  test("a VolumeSnapshot that the cloud rejects is retried at growing intervals", async () => {
    const w = await withClaim();
    w.cloud.volumes.remove("v1");
    w.snapshot("backup", "data");
    await w.until(() => w.findSnapshot("backup")?.status?.error !== undefined, "an error");
    const before = w.asked.length + w.written.length;
    await w.pass(600);
    expect(w.asked.length + w.written.length - before).toBeLessThan(200);
    expect(w.findSnapshot("backup")?.status?.error?.message).toContain("Volume v1 does not exist");
    w.deleteSnapshot("backup");
    await w.until(() => w.findSnapshot("backup") === undefined && w.contents().length === 0, "deleted", 900);
  });
});

describe("a snapshot in the cloud", () => {
  test("a snapshot in the cloud is deleted when all of its VolumeSnapshotContents are deleted", async () => {
    const w = await withSnapshot();
    prepare(w, "again", "s1");
    w.snapshot("of-again", "", { source: { volumeSnapshotContentName: "again" } });
    await w.until(() => w.isReady("of-again"), "ready");
    for (const name of ["backup", "of-again"]) w.deleteSnapshot(name);
    await w.until(() => w.contents().length === 0, "deleted", 900);
    expect(w.cloud.snapshots.list()).toEqual([]);
  });

  test("a snapshot that was seen between two proofs of its absence does not count as gone", async () => {
    const w = await withSnapshot();
    const { view } = w.cloud;
    const hidden = { ...view, snapshots: () => [] };
    const name = contentOf(w, "backup")?.metadata.name ?? "";
    w.cloud.view = hidden;
    w.deleteSnapshot("backup");
    await w.pass(10);
    w.cloud.view = view;
    w.cloud.faults.add({ kind: "status", status: 423, operation: "DELETE /snapshots/{id}" });
    await w.until(() => w.events(name).join().includes("SnapshotDeleteError"), "refused");
    w.cloud.view = hidden;
    await w.pass(20);
    expect(w.contents()).toHaveLength(1);
    w.cloud.view = view;
    await w.until(() => w.contents().length === 0, "deleted", 900);
    expect(w.cloud.snapshots.list()).toEqual([]);
  });

  test("a VolumeSnapshotContent that was replaced while the cloud answered never gets the snapshot of its predecessor", async () => {
    const w = await withSnapshot();
    w.write("data", "second");
    w.snapshot("later", "data");
    await w.until(() => w.isReady("later"), "ready");
    let isReplaced = false;
    w.onCrossing = (what, when) => {
      if (isReplaced || what !== "GET /snapshots/s1" || when !== "after") return;
      isReplaced = true;
      w.deleteContent("old");
      prepare(w, "old", "s2");
    };
    prepare(w, "old", "s1");
    await w.until(() => contentOf(w, "of-old")?.status?.readyToUse === true, "ready");
    expect([isReplaced, contentOf(w, "of-old")?.status?.snapshotHandle]).toEqual([true, "s2"]);
  });

  test("a snapshot is not left behind when listings fail after its creation, and its VolumeSnapshot is deleted", async () => {
    const w = await withClaim();
    w.cloud.faults.add({ kind: "lost-answer", operation: "POST /snapshots" });
    w.snapshot("backup", "data");
    await w.until(() => w.cloud.snapshots.list().length > 0, "taken");
    w.cloud.faults.add({ kind: "status", status: 401, operation: "GET /snapshots", calls: 2 });
    await w.pass(30);
    w.deleteSnapshot("backup");
    await w.until(() => w.findSnapshot("backup") === undefined && w.contents().length === 0, "deleted", 1800);
    expect(w.cloud.snapshots.list()).toEqual([]);
  });
});

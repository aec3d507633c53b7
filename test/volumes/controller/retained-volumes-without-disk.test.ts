// Leftover PersistentVolumes: their reclaim policy is Retain, and an administrator has deleted the
// disk, as the Kubernetes documentation describes.

import { afterEach, expect, test } from "bun:test";
import { VolumeWorld } from "../../support/volume-world.ts";

let world: VolumeWorld | undefined;
afterEach(async () => {
  await world?.stop();
  expect(world?.unexpectedErrors ?? []).toEqual([]);
});

test("three retained PersistentVolumes without a disk do not forever block the deletion of another PersistentVolume", async () => {
  const w = new VolumeWorld({ nodes: 6 });
  world = w;
  await w.start();
  w.createClass("kept", { reclaimPolicy: "Retain" });
  const kept = ["old-0", "old-1", "old-2"];
  const used = ["data-0", "data-1", "data-2", "data-3"];
  for (const name of kept) w.claim(name, { spec: { storageClassName: "kept" } });
  for (const name of used) w.claim(name);
  await w.until(() => [...kept, ...used].every((name) => w.isBound(name)), "bound");
  for (const name of kept) {
    const handle = w.volumeOf(name).spec?.csi?.volumeHandle ?? "";
    w.deleteClaim(name);
    w.cloud.volumes.remove(handle);
  }
  // Months later, a disk is deleted by hand before its claim.
  await w.pass(7200);
  const { name } = w.volumeOf("data-0").metadata;
  w.cloud.volumes.remove(w.volumeOf("data-0").spec?.csi?.volumeHandle ?? "");
  w.deleteClaim("data-0");
  await w.pass(7200);
  const held = w.manager.report().massLimits.find(({ kind }) => kind === "volumes")?.held;
  expect([held, w.volumes().some(({ metadata }) => metadata.name === name)]).toEqual([[], false]);
});

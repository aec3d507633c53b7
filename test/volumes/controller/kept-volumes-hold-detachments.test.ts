// PersistentVolumes whose deletion the cloud rejects, as with snapshots or protection: they stay Released for months.

import { afterEach, expect, test } from "bun:test";
import { VolumeWorld } from "../../support/volume-world.ts";

let world: VolumeWorld | undefined;
afterEach(async () => {
  await world?.stop();
  expect(world?.unexpectedErrors ?? []).toEqual([]);
});

test("three kept PersistentVolumes do not delay a detachment with a lost response after a restart", async () => {
  const w = new VolumeWorld({ nodes: 6 });
  world = w;
  await w.start();
  const all = Array.from({ length: 8 }, (_, index) => `data-${index}`);
  for (const name of all) w.claim(name);
  await w.until(() => all.every((name) => w.isBound(name)), "bound");
  // The user wants to keep these volumes temporarily.
  for (const name of all.slice(0, 3)) {
    const volume = w.volumeOf(name).metadata.name;
    w.changeVolume(volume, (now) => ({
      ...now,
      metadata: {
        ...now.metadata,
        annotations: { ...now.metadata.annotations, "fairlead.dev/paused": "true" },
      },
    }));
    w.deleteClaim(name);
  }
  const name = w.attach("data-7", w.nodesFor("data-7")[0]);
  await w.until(() => w.isAttached(name), "attached");
  await w.pass(60);
  await w.stop();
  await w.start();
  await w.pass(60);
  w.cloud.faults.add({ kind: "lost-answer", operation: "PATCH /volumes/{id}" });
  w.detach(name);
  await w.pass(3600);
  const held = w.manager.report().massLimits.find(({ kind }) => kind === "volumes")?.held;
  expect([w.attachment(name), held, w.volumes().length]).toEqual([undefined, [], 8]);
});

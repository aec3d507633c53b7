// A snapshot from its creation to its deletion, with a volume from it: with a crash and with each kind of fault at every request.

import { afterEach, describe, expect, test } from "bun:test";
import { runsAllTests } from "../../../src/testing/breadth.ts";
import type { Crossing } from "../../support/service-world-options.ts";
import { SnapshotWorld } from "../../support/snapshot-world.ts";

let world: SnapshotWorld | undefined;
afterEach(async () => {
  await world?.stop();
  expect(world?.unexpectedErrors ?? []).toEqual([]);
});

/** Checks at each step what must hold. The ids of the cloud count up: there was never a second volume or snapshot. */
async function live(w: SnapshotWorld): Promise<void> {
  w.claim("data");
  await w.until(() => w.isBound("data"), "bound", 900);
  w.write("data", "first");
  w.snapshot("backup", "data");
  await w.until(() => w.isReady("backup"), "ready", 900);
  expect(w.cloud.snapshots.list()).toMatchObject([{ id: "s1", data: "first" }]);
  w.write("data", "second");
  w.restore("copy", "VolumeSnapshot", "backup");
  await w.until(() => w.isBound("copy"), "restored", 900);
  expect(w.dataOf("copy")).toBe("first");
  expect(w.cloud.volumes.list().map(({ id }) => id)).toEqual(["v1", "v2"]);
  w.deleteSnapshot("backup");
  await w.until(() => w.findSnapshot("backup") === undefined, "deleted", 900);
  expect([w.contents(), w.cloud.snapshots.list()]).toEqual([[], []]);
  for (const name of ["data", "copy"]) w.deleteClaim(name);
  await w.until(() => w.volumes().length === 0, "claims deleted", 900);
  expect(w.cloud.volumes.list()).toEqual([]);
}

describe("a snapshot", () => {
  test("is created, used and deleted with one request for each change", async () => {
    const w = new SnapshotWorld();
    world = w;
    await w.start();
    await live(w);
    expect(w.changes.toSorted()).toEqual([
      "DELETE /snapshots/s1",
      "DELETE /volumes/v1",
      "DELETE /volumes/v2",
      "POST /snapshots",
      "POST /volumes",
      "POST /volumes",
    ]);
  });

  test("is neither lost nor made twice when the process is killed at any request", async () => {
    const crossings: Parameters<Crossing>[] = [];
    const clean = new SnapshotWorld();
    await clean.start();
    clean.onCrossing = (...crossing) => void crossings.push(crossing);
    await live(clean);
    await clean.stop();
    const isRelevant = ([what]: Parameters<Crossing>) => /snapshot|persistentvolumeclaims/.test(what);
    const positions = crossings.flatMap((crossing, index) => (isRelevant(crossing) ? [index] : []));
    const chosen = runsAllTests ? positions : positions.filter((_, index) => index % 4 === 0);
    expect(positions.length).toBeGreaterThan(30);
    for (const position of chosen) {
      const w = new SnapshotWorld();
      world = w;
      let count = 0;
      let isKilled = false;
      w.onCrossing = () => {
        if (count++ !== position) return;
        isKilled = true;
        w.crash();
        void w.start();
      };
      await w.start();
      await live(w);
      expect({ position, isKilled }).toEqual({ position, isKilled: true });
      await w.stop();
    }
  });

  const faults = [
    { kind: "reset" },
    { kind: "lost-answer" },
    { kind: "false-error", status: 500 },
    { kind: "status", status: 503 },
    { kind: "status", status: 429 },
    { kind: "no-effect" },
    { kind: "cut" },
  ] as const;
  test.each(faults)(
    "comes to the same end with the fault %p at every request to the cloud",
    async (fault) => {
      const clean = new SnapshotWorld();
      await clean.start();
      await live(clean);
      const operations = clean.asked.length;
      await clean.stop();
      for (let after = 0; after < operations; after += runsAllTests ? 1 : 3) {
        const w = new SnapshotWorld();
        world = w;
        await w.start();
        await w.until(() => w.manager.isIdle(), "idle");
        w.cloud.faults.add({ ...fault, after });
        await live(w);
        await w.stop();
      }
    },
  );
});

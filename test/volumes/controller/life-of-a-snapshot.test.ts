// A snapshot from its creation to its deletion, with a volume from it: with a crash and with each kind of fault at every request.

import { afterEach, describe, expect, test } from "bun:test";
import { SnapshotWorld } from "../../support/snapshot-world.ts";
import {
  expectToSurviveCrashes,
  expectToSurviveFaults,
  faultsOfTheCloud,
} from "../../support/whole-lives.ts";

let world: SnapshotWorld | undefined;
function open(): SnapshotWorld {
  world = new SnapshotWorld();
  return world;
}
afterEach(async () => {
  await world?.stop();
  expect(world?.unexpectedErrors ?? []).toEqual([]);
});

/**
 * Runs through the life, and checks the conditions at each step. The cloud's ids count up, so there was never a second
 * volume or snapshot.
 */
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
  test("a snapshot is created, used and deleted with one request for each change", async () => {
    const w = open();
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

  test("a snapshot is neither lost nor duplicated when the process is killed at any request", () =>
    expectToSurviveCrashes({ open, live }, /snapshot|persistentvolumeclaims/));

  test.each(faultsOfTheCloud)(
    "a snapshot reaches the same end with the fault %p at every request to the cloud",
    (fault) => expectToSurviveFaults({ open, live }, fault),
  );
});

// Expansions that are impossible: what the claim shows, and how to return.

import { afterEach, expect, test } from "bun:test";
import { VolumeWorld } from "../../support/volume-world.ts";

let world: VolumeWorld | undefined;
afterEach(async () => {
  await world?.stop();
  expect(world?.unexpectedErrors ?? []).toEqual([]);
});

const ask = (w: VolumeWorld, storage: string): void =>
  w.changeClaim("data", (claim) => ({
    ...claim,
    spec: { ...claim.spec, resources: { requests: { storage } } },
  }));

test("a volume is not expanded beyond the largest size of the driver, and then to a smaller requested size", async () => {
  const w = new VolumeWorld();
  world = w;
  await w.start();
  w.claim("data");
  await w.until(() => w.isBound("data"), "bound", 60);
  w.forget();
  ask(w, "2000Gi");
  const state = () => w.getClaim("data").status?.allocatedResourceStatuses?.["storage"];
  await w.until(() => state() === "ControllerResizeInfeasible", "refused", 60);
  expect(w.getClaim("data").status?.conditions).toContainEqual(
    expect.objectContaining({
      type: "ControllerResizeError",
      message: expect.stringContaining("No volume has a size of 2000Gi: sizes are 1Gi to 1024Gi"),
    }),
  );
  expect(w.changes).toEqual([]);
  ask(w, "3Gi");
  await w.until(() => state() === "NodeResizePending", "expanded", 900);
  expect(w.cloud.volumes.list()).toMatchObject([{ size: 3 }]);
});

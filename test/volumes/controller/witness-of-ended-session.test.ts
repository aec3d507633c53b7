// A session that ends before it has begun, because a sidecar starts or the Lease is lost at that moment.

import { expect, test } from "bun:test";
import { RemovalMemory } from "../../../src/controllers/kernel/removal-memory.ts";
import { VirtualClock } from "../../../src/testing/virtual-time/virtual-clock.ts";
import { VolumeDoubt } from "../../../src/volumes/controller/volume-doubt.ts";
import { driver } from "../../support/volume-world.ts";

test("a session that ended before it began leaves no witness that would hide the answer of the next session", async () => {
  const clock = new VirtualClock();
  const removals = new RemovalMemory(clock);
  const volume = {
    metadata: { name: "pv-0", uid: "u-0" },
    spec: { csi: { driver, volumeHandle: "v1" } },
    status: { phase: "Bound" },
  };
  const volumes = { list: () => [volume], get: () => volume };
  const doubt = new VolumeDoubt({
    deps: {
      removals,
      clock,
      random: undefined,
      settings: { confirmAfter: 30_000, removalLimit: "off" },
      stores: { volumes },
      driver: { name: driver },
    },
    history: { limits: { volumes: { state: {} } }, missingSince: new Map() },
    shown: undefined,
    listVolumes: () => Promise.resolve(),
  } as never);
  const ended = new AbortController();
  ended.abort();
  await doubt.vouch(ended.signal);
  // The witness of the next session sees a cloud that lacks everything.
  removals.account.follow(() => "absent");
  removals.account.note();
  expect(removals.account.doubt).toBe("nothing shown");
});

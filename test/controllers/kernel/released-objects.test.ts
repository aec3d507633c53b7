import { expect, test } from "bun:test";
import { Doubt } from "../../../src/controllers/kernel/doubt.ts";
import { defaultRemovalLimit, HoldMemory } from "../../../src/controllers/kernel/removal-limit.ts";
import { VirtualClock } from "../../../src/testing/virtual-time/virtual-clock.ts";
import { vouchedRemovals } from "../../support/vouched-removals.ts";

test("objects that an operator released do not count as absent, although the hold has counted them", () => {
  const clock = new VirtualClock();
  const removals = vouchedRemovals(clock);
  const absent = new Set(["0", "1", "2"]);
  const doubt = new Doubt({
    kind: "nodes",
    census: {
      keys: () => Array.from({ length: 10 }, (_, index) => String(index)),
      of: (key) => ({ id: key, standing: absent.has(key) ? "absent" : "present" }),
    },
    clock,
    removals,
    settings: { removalLimit: defaultRemovalLimit },
    memory: new HoldMemory(),
  });
  for (const id of absent) expect(doubt.hold(id, id)).toMatchObject({ absent: 3, allowed: 2 });
  expect(removals.release("nodes")).toEqual(["0", "1", "2"]);
  absent.add("3");
  doubt.invalidate();
  expect(doubt.about("3").held).toBeUndefined();
  expect(doubt.counts).toMatchObject({ total: 10, absent: 1 });
});

// Which machines of a vCenter are remembered, and how many.

import { expect, test } from "bun:test";
import { SeenMachines } from "../../../providers/vsphere/absence.ts";
import { canonical } from "../../../providers/vsphere/uuids.ts";

const ref = (number: number) => ({ type: "VirtualMachine", value: `vm-${number}` });
const uuidOf = (number: number) => `42000000-0000-0000-0000-${String(number).padStart(12, "0")}`;
const keyOf = (number: number) => canonical(uuidOf(number));

const refsOf = (seen: SeenMachines, number: number) => seen.withKey(keyOf(number)).map(({ ref: one }) => one);

test("forgets the machine that was not shown for the longest time first, so that memory is bounded", () => {
  const seen = new SeenMachines(100);
  for (let number = 0; number < 1000; number += 1) {
    seen.add(ref(0), uuidOf(0));
    seen.add(ref(number), uuidOf(number));
  }
  expect(seen.keys.size).toBe(100);
  expect(refsOf(seen, 0)).toEqual([ref(0)]);
  expect(refsOf(seen, 500)).toEqual([]);
  expect(seen.withKey(keyOf(999)).map(({ uuid }) => uuid)).toEqual([uuidOf(999)]);
});

test("remembers all machines with the same UUID, in the order in which they were last shown", () => {
  const seen = new SeenMachines();
  for (const number of [1, 2, 3, 2]) seen.add(ref(number), uuidOf(1));
  expect(refsOf(seen, 1)).toEqual([1, 3, 2].map(ref));
});

test("remembers a machine that gets another UUID with both UUIDs", () => {
  const seen = new SeenMachines();
  seen.add(ref(1), uuidOf(1));
  seen.add(ref(1), uuidOf(2));
  expect(refsOf(seen, 1)).toEqual([ref(1)]);
  expect(refsOf(seen, 2)).toEqual([ref(1)]);
  expect(seen.keys.get("vm-1")).toBe(keyOf(2));
});

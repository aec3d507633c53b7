// Which machines of a vCenter are remembered, and how many.

import { expect, test } from "bun:test";
import { SeenMachines } from "../../../providers/vsphere/seen-machines.ts";
import { canonical } from "../../../providers/vsphere/uuids.ts";

const ref = (number: number) => ({ type: "VirtualMachine", value: `vm-${number}` });
const uuidOf = (number: number) => `42000000-0000-0000-0000-${String(number).padStart(12, "0")}`;
const keyOf = (number: number) => canonical(uuidOf(number));

test("the machine that was listed the longest time ago is forgotten first, so that memory is bounded", () => {
  const seen = new SeenMachines(100);
  for (let number = 0; number < 1000; number += 1) {
    seen.add(ref(0), uuidOf(0));
    seen.add(ref(number), uuidOf(number));
  }
  expect(seen.keys.size).toBe(100);
  expect(seen.referencesOf(keyOf(0))).toEqual([ref(0)]);
  expect(seen.referencesOf(keyOf(500))).toEqual([]);
  expect(seen.uuidOf(keyOf(999))).toBe(uuidOf(999));
});

test("all machines with one UUID are remembered, up to four", () => {
  const seen = new SeenMachines();
  for (const number of [1, 2, 3, 2, 4, 5]) seen.add(ref(number), uuidOf(1));
  expect(seen.referencesOf(keyOf(1))).toEqual([3, 2, 4, 5].map(ref));
  expect([...seen.keys.keys()].toSorted()).toEqual(["vm-2", "vm-3", "vm-4", "vm-5"]);
});

test("a machine that gets another UUID is remembered with both", () => {
  const seen = new SeenMachines();
  seen.add(ref(1), uuidOf(1));
  seen.add(ref(1), uuidOf(2));
  expect(seen.referencesOf(keyOf(1))).toEqual([ref(1)]);
  expect(seen.referencesOf(keyOf(2))).toEqual([ref(1)]);
  expect(seen.keys.get("vm-1")).toBe(keyOf(2));
});

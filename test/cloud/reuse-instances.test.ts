import { expect, test } from "bun:test";
import { reuseInstances } from "../../src/cloud/source-inventory.ts";
import { machine } from "../support/scripted-source.ts";

test("reuseInstances reuses unchanged objects, and the list itself when all are unchanged", () => {
  const before = [machine("a"), machine("b")];
  expect(reuseInstances([machine("a"), machine("b")], before)).toBe(before);
});

test("reuseInstances uses the listed objects for changed, new and removed machines", () => {
  const before = [machine("a"), machine("b"), machine("c")];
  const changed = machine("b", { type: "larger" });
  const after = reuseInstances([machine("a"), changed, machine("d")], before);
  expect(after).toEqual([machine("a"), changed, machine("d")]);
  expect(after[0]).toBe(before[0] as (typeof before)[0]);
  expect(after[1]).toBe(changed);
});

test("reuseInstances keeps two machines with one key", () => {
  const twins = [machine("a", { type: "small" }), machine("a", { type: "large" })];
  expect(reuseInstances(twins, [machine("a", { type: "large" })])).toEqual(twins);
});

test("reuseInstances returns a new list for a different order", () => {
  const before = [machine("a"), machine("b")];
  expect(reuseInstances([machine("b"), machine("a")], before)).not.toBe(before);
});

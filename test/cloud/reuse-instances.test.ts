import { expect, test } from "bun:test";
import { reuseInstances } from "../../src/cloud/reuse-instances.ts";
import { machine } from "../support/scripted-source.ts";

test("what is the same is the very object of before, and the list too when all of it is", () => {
  const before = [machine("a"), machine("b")];
  expect(reuseInstances([machine("a"), machine("b")], before)).toBe(before);
});

test("what has changed, come or gone is as it was listed", () => {
  const before = [machine("a"), machine("b"), machine("c")];
  const changed = machine("b", { type: "larger" });
  const after = reuseInstances([machine("a"), changed, machine("d")], before);
  expect(after).toEqual([machine("a"), changed, machine("d")]);
  expect(after[0]).toBe(before[0] as (typeof before)[0]);
  expect(after[1]).toBe(changed);
});

test("two machines under one key stay two", () => {
  const twins = [machine("a", { type: "small" }), machine("a", { type: "large" })];
  expect(reuseInstances(twins, [machine("a", { type: "large" })])).toEqual(twins);
});

test("another order is another list", () => {
  const before = [machine("a"), machine("b")];
  expect(reuseInstances([machine("b"), machine("a")], before)).not.toBe(before);
});

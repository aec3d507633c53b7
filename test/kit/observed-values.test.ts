// API results, compared with what is wanted, and prepared to be sent back.

import { expect, test } from "bun:test";
import { hasAll, membersOf, ownersOfDefaultName } from "../../src/index.ts";

const rule = (port: number, target: number) => ({ port, target });

test.each([
  ["further members", { a: 1, b: 2 }, { a: 1 }, true],
  ["a different value", { a: 1 }, { a: 2 }, false],
  ["a missing member", {}, { a: 1 }, false],
  ["no object at all", null, { a: 1 }, false],
  ["absent instead of false", { a: null }, { a: false, b: false }, true],
  ["false instead of true", { a: false }, { a: true }, false],
  ["an undefined desired value", { a: 1 }, { a: 1, b: undefined }, true],
  ["a list in another order", { a: [2, 1] }, { a: [1, 2] }, true],
  ["a longer list", { a: [1, 2, 3] }, { a: [1, 2] }, false],
  ["a shorter list", { a: [1] }, { a: [1, 2] }, false],
  ["another list of the same length", { a: [1, 3] }, { a: [1, 2] }, false],
  ["a repeated entry", { a: [1, 2] }, { a: [1, 2, 2] }, true],
  ["no list instead of an empty list", {}, { a: [] }, true],
  ["objects in another order", [{ ...rule(2, 3), more: 1 }, rule(1, 2)], [rule(1, 2), rule(2, 3)], true],
  ["a different object", [rule(1, 2), rule(2, 4)], [rule(1, 2), rule(2, 3)], false],
])("hasAll decides whether the desired members are observed, with %s", (_, observed, wanted, expected) => {
  expect(hasAll(observed, wanted)).toBe(expected);
});

test("membersOf omits null values, at any depth", () => {
  const value = { a: 1, b: null, c: { d: null, e: [{ f: null, g: 2 }] }, unused: 3 };
  expect(membersOf(value, ["a", "b", "c", "missing"])).toEqual({ a: 1, c: { e: [{ g: 2 }] } });
});

test("ownersOfDefaultName returns the 16 uids with this default name, and no uid for any other name", () => {
  const uid = "01234567-89ab-cdef-0123-456789abcdef";
  const owners = ownersOfDefaultName(`a${uid.replaceAll("-", "")}`.slice(0, 32));
  expect(owners).toHaveLength(16);
  expect(owners as readonly string[]).toContain(uid);
  for (const name of ["shop", `b${uid}`, "a0123", `a${uid.replaceAll("-", "")}`])
    expect(ownersOfDefaultName(name)).toEqual([]);
});

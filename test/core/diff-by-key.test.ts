// The difference between desired and observed lists.

import { expect, test } from "bun:test";
import fc from "fast-check";
import { diffByKey } from "../../src/core/diff-by-key.ts";

interface Item {
  readonly key: string;
  readonly value: number;
}

const diff = (desired: readonly Item[], observed: readonly Item[]) =>
  diffByKey(desired, observed, {
    keyOfDesired: ({ key }) => key,
    keyOfObserved: ({ key }) => key,
    isSame: (wanted, there) => wanted.value === there.value,
  });

const item = (key: string, value: number): Item => ({ key, value });

test("diffByKey creates, updates and removes in the given order", () => {
  expect(
    diff([item("a", 1), item("b", 2), item("c", 3)], [item("d", 0), item("b", 0), item("a", 1)]),
  ).toEqual({
    create: [item("c", 3)],
    update: [{ desired: item("b", 2), observed: item("b", 0) }],
    remove: [item("d", 0)],
  });
});

test("diffByKey keeps the item that needs no update if several have the same key", () => {
  expect(diff([item("a", 1)], [item("a", 0), item("a", 1)])).toEqual({
    create: [],
    update: [],
    remove: [item("a", 0)],
  });
});

const items = fc.array(
  fc.record({ key: fc.constantFrom("a", "b", "c", "__proto__"), value: fc.integer({ min: 0, max: 2 }) }),
);

test("diffByKey turns the observed list into the desired list, so that no difference remains", () => {
  fc.assert(
    fc.property(items, items, (desired, observed) => {
      const { create, update, remove } = diff(desired, observed);
      const changed = new Map<Item, Item>(update.map((change) => [change.observed, change.desired]));
      const after = [
        ...observed.filter((one) => !remove.includes(one)).map((one) => changed.get(one) ?? one),
        ...create,
      ];
      const firsts = desired.filter(
        (one, index) => desired.findIndex(({ key }) => key === one.key) === index,
      );
      const byKey = (one: Item, other: Item) => (one.key < other.key ? -1 : 1);
      expect(after.toSorted(byKey)).toEqual(firsts.toSorted(byKey));
      expect(diff(desired, after)).toEqual({ create: [], update: [], remove: [] });
    }),
  );
});

import { describe, expect, test } from "bun:test";
import { seconds } from "../../src/core/brand.ts";
import { Snapshot } from "../../src/runtime/snapshot.ts";
import { VirtualClock } from "../../src/testing/virtual-time/virtual-clock.ts";

interface Item {
  readonly key: string;
  readonly type: string;
}

const item = (key: string, type = "small"): Item => ({ key, type });

/** Lists these pages after a listing of `before`, and returns the items. */
async function listAfter(before: readonly (readonly Item[])[], pages: readonly (readonly Item[])[]) {
  const clock = new VirtualClock();
  const seen: Item[] = [];
  let listed = before;
  const snapshot = new Snapshot<Item>({
    clock,
    signal: new AbortController().signal,
    keyOf: ({ key }) => key,
    list: async function* () {
      yield* listed;
    },
    onPage: (page) => seen.push(...page),
  });
  const previous = await snapshot.beganAfter(0);
  listed = pages;
  seen.length = 0;
  await clock.advance(seconds(1));
  const latest = await snapshot.beganAfter(seconds(1));
  return { previous: previous.items, latest: latest.items, seen };
}

test("a snapshot keeps the objects of unchanged items, and the list itself when all are unchanged", async () => {
  const { previous, latest } = await listAfter([[item("a")], [item("b")]], [[item("a"), item("b")]]);
  expect(latest).toBe(previous);
});

test("a snapshot takes the listed objects of changed and new items, and omits removed items", async () => {
  const [changed, added] = [item("b", "larger"), item("d")];
  const { previous, latest } = await listAfter(
    [[item("a"), item("b"), item("c")]],
    [[item("a"), changed], [added]],
  );
  expect(latest).toEqual([item("a"), changed, added]);
  expect(latest[0]).toBe(previous[0] as Item);
  expect(latest[1]).toBe(changed);
});

test("a snapshot replaces items that a page repeats before the next page arrives", async () => {
  const { previous, seen } = await listAfter(
    [[item("a")], [item("b")]],
    [[item("a")], [item("b", "larger")]],
  );
  expect(seen[0]).toBe(previous[0] as Item);
});

test("a snapshot keeps two items with the same key", async () => {
  const twins = [item("a", "small"), item("a", "large")];
  expect((await listAfter([[item("a", "large")]], [twins])).latest).toEqual(twins);
});

describe("an object that several items share", () => {
  let reads = 0;
  /** Counts how often a comparison reads the shared object. */
  const sharedBy = (keys: string, size: number, others: Readonly<Record<string, string>> = {}): Item[] => {
    const parts = new Map(
      Array.from({ length: 20 }, (_, index) => [
        `${index}`,
        {
          get size() {
            reads += 1;
            return size;
          },
        },
      ]),
    );
    return [...keys].map((key) => ({ ...item(key, others[key]), parts }) as Item);
  };
  const once = 2 * 20;

  test("an object that several items share is compared once", async () => {
    reads = 0;
    const { previous, latest } = await listAfter([sharedBy("abc", 1)], [sharedBy("abc", 1)]);
    expect(latest).toBe(previous);
    expect(reads).toBe(once);
  });

  test("a changed shared object changes each item", async () => {
    const changed = sharedBy("abc", 2);
    const { latest } = await listAfter([sharedBy("abc", 1)], [changed]);
    expect(latest.map((one, at) => one === changed[at])).toEqual([true, true, true]);
  });

  test("an object is still shared, and compared once, after some items have changed or are new", async () => {
    const listings = [
      sharedBy("abc", 1),
      sharedBy("dabc", 1, { b: "larger" }),
      sharedBy("dabc", 1, { b: "larger" }),
      sharedBy("dabc", 1, { b: "larger" }),
    ];
    const clock = new VirtualClock();
    const snapshot = new Snapshot<Item>({
      clock,
      signal: new AbortController().signal,
      keyOf: ({ key }) => key,
      list: async function* () {
        yield listings.shift() ?? [];
      },
    });
    for (let at = 0; at < 3; at += 1) {
      await snapshot.beganAfter(seconds(at));
      await clock.advance(seconds(1));
    }
    reads = 0;
    const { items } = await snapshot.beganAfter(seconds(3));
    expect(new Set(items.map((one) => (one as Item & { parts: unknown }).parts)).size).toBe(1);
    expect(reads).toBe(once);
  });
});

test("a snapshot has a new list for a different order", async () => {
  const { previous, latest } = await listAfter([[item("a"), item("b")]], [[item("b"), item("a")]]);
  expect(latest).not.toBe(previous);
  expect(latest).toEqual([item("b"), item("a")]);
});

import { expect, test } from "bun:test";
import { seconds } from "../../src/core/brand.ts";
import { Snapshot } from "../../src/runtime/snapshot.ts";
import { VirtualClock } from "../../src/testing/virtual-time/virtual-clock.ts";

interface Item {
  readonly key: string;
  readonly type: string;
}

const item = (key: string, type = "small"): Item => ({ key, type });

/** The items of a listing of these pages, after one of `before`. */
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

test("a snapshot takes the listed objects of changed and new items, and leaves out removed ones", async () => {
  const [changed, added] = [item("b", "larger"), item("d")];
  const { previous, latest } = await listAfter(
    [[item("a"), item("b"), item("c")]],
    [[item("a"), changed], [added]],
  );
  expect(latest).toEqual([item("a"), changed, added]);
  expect(latest[0]).toBe(previous[0] as Item);
  expect(latest[1]).toBe(changed);
});

test("a snapshot replaces what a page repeats before the next page arrives", async () => {
  const { previous, seen } = await listAfter(
    [[item("a")], [item("b")]],
    [[item("a")], [item("b", "larger")]],
  );
  expect(seen[0]).toBe(previous[0] as Item);
});

test("a snapshot keeps two items with one key", async () => {
  const twins = [item("a", "small"), item("a", "large")];
  expect((await listAfter([[item("a", "large")]], [twins])).latest).toEqual(twins);
});

test("a snapshot compares once what several items share, and finds a change of it in each of them", async () => {
  let reads = 0;
  const shared = (size: number) => ({
    get size() {
      reads += 1;
      return size;
    },
  });
  const three = (size: number) => {
    const type = shared(size) as never;
    return [item("a", type), item("b", type), item("c", type)];
  };
  const same = await listAfter([three(1)], [three(1)]);
  expect(same.latest).toBe(same.previous);
  // Both sides of one comparison.
  expect(reads).toBe(2);
  const changed = three(2);
  const { latest } = await listAfter([three(1)], [changed]);
  expect(latest.map((one, at) => one === changed[at])).toEqual([true, true, true]);
});

test("a snapshot has a new list for a different order", async () => {
  const { previous, latest } = await listAfter([[item("a"), item("b")]], [[item("b"), item("a")]]);
  expect(latest).not.toBe(previous);
  expect(latest).toEqual([item("b"), item("a")]);
});

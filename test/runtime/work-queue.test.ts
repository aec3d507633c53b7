import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { milliseconds } from "../../src/core/brand.ts";
import { DueHeap } from "../../src/runtime/due-heap.ts";
import { type Priority, priorities, WorkQueue } from "../../src/runtime/work-queue.ts";
import { VirtualClock } from "../../src/testing/virtual-time/virtual-clock.ts";

const never = new AbortController().signal;
const setUp = () => {
  const clock = new VirtualClock();
  const queue = new WorkQueue(clock);
  const taken: string[] = [];
  const takeAll = async (count: number) => {
    for (let index = 0; index < count; index += 1) taken.push(await queue.take(never));
    return taken;
  };
  return { clock, queue, taken, takeAll };
};

describe("the work queue", () => {
  test("the work queue ends only the delays of keys that are retried after an error", async () => {
    const { queue } = setUp();
    queue.add("failed", { delay: milliseconds(60_000), isRetry: true });
    queue.add("later", { delay: milliseconds(60_000) });
    queue.retryNow();
    expect([queue.depth, queue.delayed]).toEqual([1, 1]);
    expect(await queue.take(never)).toBe("failed");
  });

  test("the work queue returns a key that was added many times only once", async () => {
    const { queue } = setUp();
    for (let index = 0; index < 1000; index += 1) queue.add("a");
    expect(queue.depth).toBe(1);
    expect(await queue.take(never)).toBe("a");
    queue.done("a");
    expect(queue.isIdle).toBe(true);
  });

  test("the work queue returns a key that was added during its processing again afterwards", async () => {
    const { queue, clock, taken } = setUp();
    queue.add("a");
    await queue.take(never);
    queue.add("a");
    queue.add("a");
    void queue.take(never).then((key) => taken.push(key));
    await clock.advance(milliseconds(10));
    expect(taken).toEqual([]);
    queue.done("a");
    await clock.advance(milliseconds(0));
    expect(taken).toEqual(["a"]);
    queue.done("a");
    expect(queue.isIdle).toBe(true);
  });

  test("the work queue returns urgent keys first, in order of arrival within a priority", async () => {
    const { queue, takeAll } = setUp();
    queue.add("b1", { priority: priorities.background });
    queue.add("n1");
    queue.add("u1", { priority: priorities.urgent });
    queue.add("n2");
    queue.add("b1", { priority: priorities.urgent });
    queue.add("u1", { priority: priorities.background });
    expect(await takeAll(4)).toEqual(["u1", "b1", "n1", "n2"]);
  });

  test.each([
    ["the earlier of two delays", [30, 10], 10],
    ["the earlier delay when the later delay comes second", [10, 30], 10],
    ["an immediate run rather than a delay", [30, 0], 0],
  ])("the work queue keeps %s", async (_, delays, due) => {
    const { queue, clock, taken } = setUp();
    for (const delay of delays) queue.add("a", { delay: milliseconds(delay) });
    void queue.take(never).then((key) => {
      taken.push(`${key} ${clock.monotonic()}`);
      queue.done(key);
    });
    await clock.advance(milliseconds(100));
    expect(taken).toEqual([`a ${due}`]);
    expect(queue.isIdle).toBe(true);
  });

  test("the work queue keeps the more urgent priority when an immediate run replaces a delayed run", async () => {
    const { queue, takeAll } = setUp();
    queue.add("a", { delay: milliseconds(10), priority: priorities.urgent });
    queue.add("b");
    queue.add("a", { priority: priorities.background });
    expect(await takeAll(2)).toEqual(["a", "b"]);
  });

  test("the work queue immediately returns a key that was added during its processing, whatever delay follows", async () => {
    const { queue } = setUp();
    queue.add("a");
    await queue.take(never);
    queue.add("a");
    queue.add("a", { delay: milliseconds(1000) });
    queue.done("a");
    expect([queue.depth, queue.delayed]).toEqual([1, 0]);
  });

  test("the work queue ignores a delay that an immediate run has replaced", async () => {
    const { queue, clock } = setUp();
    queue.add("a", { delay: milliseconds(30) });
    queue.add("a");
    queue.done(await queue.take(never));
    queue.add("a", { delay: milliseconds(100) });
    await clock.advance(milliseconds(99));
    expect([queue.depth, queue.delayed]).toEqual([0, 1]);
    await clock.advance(milliseconds(1));
    expect([queue.depth, queue.delayed]).toEqual([1, 0]);
  });

  test("the work queue removes the listener of an aborted take and gives it no key", async () => {
    const { queue } = setUp();
    const gaveUp = new AbortController();
    const taking = queue.take(gaveUp.signal).catch((error: Error) => error.message);
    gaveUp.abort(new Error("enough"));
    expect(await taking).toBe("enough");
    queue.add("a");
    expect(queue.depth).toBe(1);
    expect(await queue.take(gaveUp.signal).catch((error: Error) => error.message)).toBe("enough");
  });
});

/** A simple, slow model of the queue. */
class NaiveQueue {
  readonly keys = new Map<string, { due: number; priority: Priority; order: number }>();
  readonly active = new Map<string, Priority | undefined>();
  order = 0;

  add(key: string, now: number, delay: number, priority: Priority): void {
    const known = this.keys.get(key);
    if (delay > 0) {
      if (known !== undefined && known.due <= now) return;
      const due = Math.min(known?.due ?? Number.POSITIVE_INFINITY, now + delay);
      const both = Math.min(known?.priority ?? priority, priority) as Priority;
      this.keys.set(key, { due, priority: both, order: this.order++ });
      return;
    }
    const both = Math.min(known?.priority ?? priority, priority) as Priority;
    if (this.active.has(key)) {
      this.keys.delete(key);
      this.active.set(key, Math.min(this.active.get(key) ?? both, both) as Priority);
    } else if (known === undefined || known.due > now || known.priority > both) {
      this.keys.set(key, { due: now, priority: both, order: this.order++ });
    }
  }

  release(now: number): void {
    for (const [key, { due, priority }] of [...this.keys]) {
      if (due <= now && this.active.has(key)) {
        this.keys.delete(key);
        this.active.set(key, Math.min(this.active.get(key) ?? priority, priority) as Priority);
      }
    }
  }

  /** The keys that may be returned: those of the most urgent priority. */
  candidates(now: number): readonly string[] {
    const ready = [...this.keys].filter(([, { due }]) => due <= now);
    const best = Math.min(...ready.map(([, { priority }]) => priority));
    return ready.filter(([, { priority }]) => priority === best).map(([key]) => key);
  }

  take(key: string): void {
    this.keys.delete(key);
    this.active.set(key, undefined);
  }

  done(key: string, now: number): void {
    const asked = this.active.get(key);
    this.active.delete(key);
    if (asked !== undefined) this.add(key, now, 0, asked);
  }
}

const step = fc.oneof(
  fc.record({
    do: fc.constant("add" as const),
    key: fc.constantFrom("a", "b", "c", "d"),
    delay: fc.constantFrom(0, 0, 5, 10, 20),
    priority: fc.constantFrom(...Object.values(priorities)),
  }),
  fc.record({ do: fc.constant("take" as const) }),
  fc.record({ do: fc.constant("done" as const), which: fc.nat(3) }),
  fc.record({ do: fc.constant("pass" as const), time: fc.constantFrom(1, 5, 15) }),
);

test("the work queue behaves like the model: no key is processed twice at a time or lost, urgent keys come first", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const clock = new VirtualClock();
      const queue = new WorkQueue(clock);
      const naive = new NaiveQueue();
      const inHand: string[] = [];
      for (const each of steps) {
        const now = clock.monotonic();
        if (each.do === "add") {
          queue.add(each.key, { delay: milliseconds(each.delay), priority: each.priority });
          naive.add(each.key, now, each.delay, each.priority);
        } else if (each.do === "pass") {
          await clock.advance(milliseconds(each.time));
          naive.release(clock.monotonic());
        } else if (each.do === "take") {
          const candidates = naive.candidates(now);
          expect(queue.depth > 0).toBe(candidates.length > 0);
          if (candidates.length === 0) continue;
          const key = await queue.take(never);
          expect(candidates).toContain(key);
          expect(inHand).not.toContain(key);
          inHand.push(key);
          naive.take(key);
        } else {
          const [key] = inHand.splice(each.which % Math.max(1, inHand.length), 1);
          if (key === undefined) continue;
          queue.done(key);
          naive.done(key, now);
        }
        const at = clock.monotonic();
        const ready = [...naive.keys.values()].filter(({ due }) => due <= at).length;
        expect([queue.depth, queue.delayed, queue.active]).toEqual([
          ready,
          naive.keys.size - ready,
          naive.active.size,
        ]);
      }
    }),
    { numRuns: 150, seed: 11 },
  );
});

test("the heap returns keys by due time, whatever their insertion order", () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(fc.integer({ min: 0, max: 50 }), fc.constant("pop" as const))), (steps) => {
      const heap = new DueHeap();
      const naive: number[] = [];
      for (const each of steps) {
        if (each === "pop") {
          const first = naive.sort((a, b) => a - b).shift();
          expect([heap.peek()?.due, heap.pop()?.due]).toEqual([first, first]);
        } else {
          naive.push(each);
          heap.push({ key: "k", due: each });
        }
      }
    }),
  );
  fc.assert(
    fc.property(fc.array(fc.integer()), (dues) => {
      const heap = new DueHeap();
      for (const due of dues) heap.push({ key: "k", due });
      const all = dues.map(() => heap.pop()?.due);
      expect(all).toEqual([...dues].sort((a, b) => a - b));
      expect(heap.pop()).toBeUndefined();
    }),
  );
});

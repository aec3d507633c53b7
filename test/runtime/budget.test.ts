import { describe, expect, test } from "bun:test";
import { getEventListeners } from "node:events";
import fc from "fast-check";
import { milliseconds, seconds } from "../../src/core/brand.ts";
import { seededRandom } from "../../src/platform/random.ts";
import { type Attempt, Breaker } from "../../src/runtime/breaker.ts";
import { Budget, type BudgetOptions, type WaitTooLongError } from "../../src/runtime/budget.ts";
import { VirtualClock } from "../../src/testing/virtual-time/virtual-clock.ts";

const never = new AbortController().signal;

describe("a budget [F71 F87]", () => {
  const setUp = (options: Partial<BudgetOptions> = {}) => {
    const clock = new VirtualClock();
    const budget = new Budget({ clock, maxInFlight: 100, reserve: [0, 0.05, 0.1, 0.25], ...options });
    const entered: string[] = [];
    const enter = (name: string, rank: number, signal = never, operation = "") =>
      void budget.enter({ rank, operation }, signal).then(
        () => entered.push(name),
        () => entered.push(`${name} gave up`),
      );
    return { clock, budget, entered, enter };
  };

  test("a budget admits the most urgent call first, in order of arrival within a rank", async () => {
    const { clock, budget, entered, enter } = setUp({ maxInFlight: 1 });
    for (const [name, rank] of [
      ["a", 3],
      ["b", 3],
      ["c", 0],
      ["d", 2],
      ["e", 0],
    ] as const)
      enter(name, rank);
    await clock.advance(milliseconds(1));
    for (let index = 0; index < 4; index += 1) {
      budget.leave();
      await clock.advance(milliseconds(1));
    }
    expect(entered).toEqual(["a", "c", "e", "d", "b"]);
  });

  test("a budget reserves a share of the remaining requests for lower ranks", async () => {
    const { clock, budget, entered, enter } = setUp();
    budget.learn({ limit: 100, remaining: 10, resetIn: seconds(60) });
    enter("refresh", 3);
    enter("proof", 2);
    enter("node", 1);
    enter("user", 0);
    await clock.advance(seconds(1));
    expect(entered).toEqual(["node", "user"]);
    expect(budget.level).toMatchObject({ limit: 100, remaining: 8, inFlight: 2, waiting: 2 });
    await clock.advance(seconds(60));
    expect(entered).toEqual(["node", "user", "proof", "refresh"]);
    expect(budget.level).toMatchObject({ limit: undefined, remaining: undefined, waiting: 0 });
  });

  test("a budget keeps a limit per minute that no response reports, including for requests in flight", async () => {
    const { clock, budget, entered, enter } = setUp({ requestsPerMinute: 4 });
    for (const name of ["a", "b", "c", "d", "e"]) enter(name, 0);
    await clock.advance(seconds(10));
    expect(entered).toEqual(["a", "b", "c", "d"]);
    budget.leave();
    await clock.advance(seconds(20));
    for (let index = 0; index < 3; index += 1) budget.leave();
    await clock.advance(seconds(39));
    expect(entered).toHaveLength(4);
    expect(budget.waitFor(0)).toBe(milliseconds(1000));
    await clock.advance(seconds(1));
    expect(entered).toEqual(["a", "b", "c", "d", "e"]);
    expect(budget.waitFor(0)).toBe(milliseconds(20_000));
  });

  test("a budget reserves a share of the limit per minute for lower ranks", async () => {
    const { clock, entered, enter } = setUp({ requestsPerMinute: 20 });
    for (let index = 0; index < 20; index += 1) enter("refresh", 3);
    enter("user", 0);
    await clock.advance(seconds(1));
    expect(entered.filter((name) => name === "refresh")).toHaveLength(15);
    expect(entered).toContain("user");
  });

  test("a budget counts requests in flight before their responses arrive", async () => {
    const { clock, budget, entered, enter } = setUp();
    budget.learn({ limit: 4, remaining: 2, resetIn: seconds(10) });
    for (const name of ["a", "b", "c"]) enter(name, 0);
    await clock.advance(seconds(9));
    expect(entered).toEqual(["a", "b"]);
    await clock.advance(seconds(1));
    expect(entered).toEqual(["a", "b", "c"]);
  });

  test("a budget admits waiting calls as soon as a response reports remaining requests", async () => {
    const { clock, budget, entered, enter } = setUp();
    budget.learn({ limit: 100, remaining: 0, resetIn: seconds(60) });
    enter("a", 0);
    await clock.advance(seconds(1));
    budget.learn({ limit: 100, remaining: 50, resetIn: seconds(59) });
    await clock.advance(milliseconds(0));
    expect(entered).toEqual(["a"]);
  });

  test("a budget admits no call after a rejection until its time has passed", async () => {
    const { clock, budget, entered, enter } = setUp();
    budget.learn({ closedFor: seconds(30) });
    budget.learn({ closedFor: seconds(5) });
    enter("user", 0);
    expect(budget.level.closedFor).toBe(seconds(30));
    await clock.advance(milliseconds(29_999));
    expect(entered).toEqual([]);
    await clock.advance(milliseconds(1));
    expect(entered).toEqual(["user"]);
  });

  test("a budget admits calls of other operations while one operation is closed", async () => {
    const { clock, budget, entered, enter } = setUp();
    budget.close("create", seconds(30));
    budget.close("create", seconds(5));
    enter("user", 0, never, "create");
    enter("refresh", 3, never, "list");
    expect([budget.waitOf("create"), budget.waitOf("list")]).toEqual([seconds(30), seconds(0)]);
    await clock.advance(milliseconds(29_999));
    expect(entered).toEqual(["refresh"]);
    await clock.advance(milliseconds(1));
    expect(entered).toEqual(["refresh", "user"]);
    expect(budget.level.closedOperations).toEqual({});
  });

  test("a budget fails a call whose wait would exceed maxWait, on entry or when its operation is closed for longer while it waits", async () => {
    const { clock, budget } = setUp({ maxInFlight: 1 });
    const waits: unknown[] = [];
    const enter = (operation: string) =>
      void budget
        .enter({ rank: 0, operation, maxWait: seconds(2) }, never)
        .then(() => waits.push(`${operation} entered`))
        .catch((error: WaitTooLongError) => waits.push(error.wait));
    for (const operation of ["create", "create", "list"]) enter(operation);
    await clock.advance(seconds(10));
    expect(waits).toEqual(["create entered"]);
    budget.close("create", seconds(2));
    await clock.advance(milliseconds(0));
    expect(waits).toHaveLength(1);
    budget.close("create", seconds(30));
    await clock.advance(milliseconds(0));
    expect(waits).toEqual(["create entered", seconds(30)]);
    budget.leave();
    enter("create");
    await clock.advance(milliseconds(0));
    expect(waits).toEqual(["create entered", seconds(30), "list entered", seconds(30)]);
    expect(budget.level).toMatchObject({ inFlight: 1, waiting: 0 });
  });

  test("a budget removes aborted callers and their listeners", async () => {
    const { clock, budget, entered, enter } = setUp({ maxInFlight: 1 });
    const gaveUp = new AbortController();
    enter("a", 0);
    enter("b", 0, gaveUp.signal);
    enter("c", 0);
    gaveUp.abort();
    budget.leave();
    await clock.advance(milliseconds(1));
    expect(entered.toSorted()).toEqual(["a", "b gave up", "c"]);
    expect(getEventListeners(gaveUp.signal, "abort")).toHaveLength(0);
    expect(budget.level).toMatchObject({ inFlight: 1, waiting: 0 });
  });

  test("a budget admits or rejects every caller, in any sequence of events", async () => {
    const news = fc.record(
      {
        limit: fc.constant(20),
        remaining: fc.integer({ min: 0, max: 20 }),
        resetIn: fc.integer({ min: 0, max: 5000 }).map(milliseconds),
        closedFor: fc.integer({ min: 0, max: 5000 }).map(milliseconds),
      },
      { requiredKeys: [] },
    );
    const step = fc.oneof(
      fc.integer({ min: 0, max: 3 }),
      fc.constant("leave" as const),
      fc.constant("give up" as const),
      news,
      fc.record({ operation: fc.constantFrom("0", "1"), refusedFor: fc.integer({ min: 0, max: 5000 }) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        const { clock, budget, entered, enter } = setUp({ maxInFlight: 3 });
        const signals: AbortController[] = [];
        let left = 0;
        for (const each of steps) {
          if (typeof each === "number") {
            const controller = new AbortController();
            signals.push(controller);
            enter("x", each, controller.signal, String(each));
          } else if (each === "give up") signals.at(-1)?.abort();
          else if (each !== "leave" && "operation" in each)
            budget.close(each.operation, milliseconds(each.refusedFor));
          else if (each !== "leave") budget.learn(each);
          else if (budget.level.inFlight > 0) {
            budget.leave();
            left += 1;
          }
          expect(budget.level.inFlight).toBeLessThanOrEqual(3);
          await clock.advance(milliseconds(50));
        }
        while (budget.level.inFlight + budget.level.waiting > 0) {
          await clock.advance(seconds(70));
          expect(budget.level.inFlight).toBeGreaterThan(0);
          budget.leave();
          left += 1;
          await clock.advance(milliseconds(1));
        }
        expect(entered).toHaveLength(signals.length);
        expect(entered.filter((name) => name === "x")).toHaveLength(left);
      }),
      { numRuns: 60, seed: 3 },
    );
  });
});

describe("a breaker", () => {
  const setUp = () => {
    const clock = new VirtualClock();
    const random = { ...seededRandom(1), fraction: () => 1 };
    const breaker = new Breaker({
      clock,
      random,
      failures: 3,
      backoff: { first: seconds(2), cap: seconds(60) },
    });
    const begin = (): Attempt => {
      const permission = breaker.ask();
      if (!permission.may) throw new Error(`The breaker rejected the call for ${permission.retryAfter} ms.`);
      return permission.attempt;
    };
    const failing = (times: number) => {
      for (let index = 0; index < times; index += 1) begin().failed();
    };
    return { clock, breaker, begin, failing };
  };

  test("a breaker opens after several consecutive failures, counted again after a success", () => {
    const { breaker, begin, failing } = setUp();
    failing(2);
    begin().succeeded();
    failing(2);
    expect(breaker.state).toBe("closed");
    failing(1);
    expect(breaker.state).toBe("open");
    expect(breaker.ask()).toEqual({ may: false, retryAfter: seconds(2) });
  });

  test("a breaker admits one probe after the backoff, and closes when the probe succeeds", async () => {
    const { clock, breaker, begin, failing } = setUp();
    failing(3);
    await clock.advance(seconds(2));
    expect(breaker.state).toBe("half-open");
    const probe = begin();
    expect(breaker.ask().may).toBe(false);
    probe.succeeded();
    expect(breaker.state).toBe("closed");
  });

  test("a breaker waits longer after each failed probe, and admits another probe after an abandoned probe", async () => {
    const { clock, breaker, begin, failing } = setUp();
    failing(3);
    await clock.advance(seconds(2));
    begin().failed();
    expect(breaker.ask()).toEqual({ may: false, retryAfter: seconds(4) });
    await clock.advance(seconds(4));
    begin().abandoned();
    expect(breaker.ask().may).toBe(true);
  });

  test("a breaker ignores the failure of a call during which another call succeeded", () => {
    const { breaker, begin, failing } = setUp();
    const slow = Array.from({ length: 3 }, begin);
    begin().succeeded();
    for (const attempt of slow) attempt.failed();
    expect(breaker.state).toBe("closed");
    failing(3);
    expect(breaker.state).toBe("open");
  });

  test("a breaker does not extend the backoff for calls that were in flight when it opened", () => {
    const { breaker, begin } = setUp();
    const underWay = Array.from({ length: 16 }, begin);
    for (const attempt of underWay) attempt.failed();
    expect(breaker.ask()).toEqual({ may: false, retryAfter: seconds(2) });
  });

  for (const ending of ["failed", "abandoned"] as const) {
    test(`a breaker admits no second probe when an earlier call has ${ending} late`, async () => {
      const { clock, breaker, begin, failing } = setUp();
      const old = begin();
      failing(3);
      await clock.advance(seconds(2));
      const probe = begin();
      old[ending]();
      await clock.advance(seconds(60));
      expect(breaker.ask()).toEqual({ may: false, retryAfter: seconds(2) });
      probe.failed();
      expect(breaker.ask()).toEqual({ may: false, retryAfter: seconds(4) });
    });
  }
});

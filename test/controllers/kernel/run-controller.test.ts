import { describe, expect, test } from "bun:test";
import { type Reconciler, runController } from "../../../src/controllers/kernel/run-controller.ts";
import { seconds } from "../../../src/core/brand.ts";
import { seededRandom } from "../../../src/platform/random.ts";
import { CloudError } from "../../../src/provider/errors.ts";
import { WorkQueue } from "../../../src/runtime/work-queue.ts";
import { requeue, settled } from "../../../src/runtime/workers.ts";
import { VirtualClock } from "../../../src/testing/virtual-time/virtual-clock.ts";

function setUp(overrides: Partial<Reconciler> = {}) {
  const clock = new VirtualClock();
  const events: string[] = [];
  const queue = new WorkQueue(clock);
  const stop = new AbortController();
  const reconciler: Reconciler = {
    queue,
    *begin() {
      events.push("begin");
      yield () => events.push("end first");
      yield () => events.push("end second");
    },
    reconcile: async (key) => {
      events.push(`reconcile ${key} at ${clock.monotonic()}`);
      return settled;
    },
    ...overrides,
  };
  const options = { clock, random: seededRandom(1), concurrency: 1 };
  const ended = runController(reconciler, options, stop.signal).then(
    () => events.push("ended"),
    (error: Error) => events.push(`failed: ${error.message}`),
  );
  return { clock, events, queue, stop, ended };
}

describe("a controller", () => {
  test("a controller ends its subscriptions in order when its workers have ended", async () => {
    const { clock, events, queue, stop, ended } = setUp();
    queue.add("a");
    await clock.advance(seconds(1));
    expect(events).toEqual(["begin", "reconcile a at 0"]);
    stop.abort();
    await ended;
    expect(events.slice(2)).toEqual(["end first", "end second", "ended"]);
  });

  test("a controller ends all other subscriptions when the end of one subscription throws", async () => {
    const events: string[] = [];
    const world = setUp({
      *begin() {
        yield () => events.push("end first");
        yield () => {
          throw new Error("no end");
        };
        yield () => events.push("end third");
      },
    });
    world.stop.abort();
    await world.ended;
    expect(events).toEqual(["end first", "end third"]);
    expect(world.events).toEqual(["failed: no end"]);
  });

  test("a controller ends the started subscriptions when another fails to start", async () => {
    const events: string[] = [];
    const world = setUp({
      *begin() {
        yield () => events.push("end first");
        throw new Error("no beginning");
      },
    });
    await world.ended;
    expect([...events, ...world.events]).toEqual(["end first", "failed: no beginning"]);
  });

  test("a controller retries after the delay of the error, or as its error handler requires", async () => {
    const seen: string[] = [];
    let outcome: ReturnType<NonNullable<Reconciler["onError"]>>;
    const { clock, queue, stop, ended } = setUp({
      reconcile: async (key) => {
        seen.push(`${key} at ${clock.monotonic() / 1000}s`);
        if (clock.monotonic() > 0) return settled;
        throw new CloudError("rate-limited", "wait", { operation: "list", retryAfter: { in: seconds(20) } });
      },
      onError: (key) => (key === "own" ? outcome : undefined),
    });
    outcome = requeue(seconds(3), "sooner");
    queue.add("own");
    queue.add("default");
    await clock.advance(seconds(60));
    expect(seen.slice(0, 3)).toEqual(["own at 0s", "default at 0s", "own at 3s"]);
    const [, at = "0"] = /default at ([\d.]+)s/.exec(seen[3] ?? "") ?? [];
    expect(Number(at)).toBeGreaterThanOrEqual(20);
    stop.abort();
    await ended;
  });
});

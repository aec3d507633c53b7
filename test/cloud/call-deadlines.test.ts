import { describe, expect, test } from "bun:test";
import { type AbandonedCall, longestCall, withDeadlines } from "../../src/cloud/call-deadlines.ts";
import { milliseconds, minutes, seconds } from "../../src/core/brand.ts";
import { Redaction } from "../../src/core/redaction.ts";
import type { Call } from "../../src/provider/call.ts";
import type { ChangeHint } from "../../src/provider/changes.ts";
import { CloudError } from "../../src/provider/errors.ts";
import type { Pending } from "../../src/provider/plan.ts";
import { failureOf } from "../../src/testing/conformance/lab.ts";
import { VirtualClock } from "../../src/testing/virtual-time/virtual-clock.ts";

type States = Awaited<ReturnType<Pending["check"]>>;
const done: States = new Map([["7", { done: true as const }]]);
const never = (): Promise<never> => new Promise(() => undefined);

const setUp = () => {
  const clock = new VirtualClock();
  const abandoned: AbandonedCall[] = [];
  const cancel = new AbortController();
  const redaction = new Redaction();
  const options = { redaction, clock, onAbandoned: (one: AbandonedCall) => void abandoned.push(one) };
  const call = { signal: cancel.signal, urgency: "refresh" } as const;
  /** The last call that the provider received. */
  let given: Call | undefined;
  const run = (begin: () => Promise<States>): Promise<States> => {
    const check: Pending["check"] = (_, own) => {
      given = own;
      return begin();
    };
    const { pending } = withDeadlines({ pending: { limit: 1, check } }, options);
    return pending?.check(["7"], call) ?? expect.unreachable();
  };
  const follow = (
    pages: () => AsyncIterable<readonly ChangeHint[]>,
  ): AsyncIterable<readonly ChangeHint[]> => {
    const { changes } = withDeadlines({ changes: { maxSilence: seconds(60), follow: pages } }, options);
    return changes?.follow(call) ?? expect.unreachable();
  };
  return { clock, abandoned, cancel, run, follow, given: () => given };
};

describe("a provider call", () => {
  test("a provider call settles like the provider's promise, and leaves no timer", async () => {
    const { clock, abandoned, run, cancel } = setUp();
    expect(await run(async () => done)).toBe(done);
    const refused = new CloudError("invalid", "refused", { operation: "GET /jobs" });
    expect(await failureOf(run(() => Promise.reject(refused)))).toBe(refused);
    cancel.abort();
    expect([clock.pending, abandoned]).toEqual([0, []]);
  });

  test("names the call when the provider throws an error other than a CloudError", async () => {
    const text =
      "UnexpectedError: pending.check of the provider failed: thrown. The cloud's answer has a different form than expected, or the provider has a bug: check for a proxy, or file a bug.";
    const { run } = setUp();
    expect(await run(() => Promise.reject(new TypeError("thrown"))).catch(String)).toBe(text);
    const thrown = run(() => {
      throw new TypeError("thrown");
    });
    expect(await thrown.catch(String)).toBe(text);
  });

  test("a provider call that ends after its cancellation keeps its own error", async () => {
    const { clock, abandoned, run, cancel } = setUp();
    const result = Promise.withResolvers<States>();
    const outcome = run(() => result.promise).catch(String);
    cancel.abort();
    await clock.advance(seconds(1));
    result.reject(new Error("cancelled by the caller"));
    expect(await outcome).toBe("Error: cancelled by the caller");
    expect([clock.pending, abandoned]).toEqual([0, []]);
  });

  test("abandons a cancelled call that does not end within two seconds", async () => {
    const { clock, abandoned, run, cancel, given } = setUp();
    let outcome = "";
    void run(never).catch((error: unknown) => {
      outcome = String(error);
    });
    await clock.advance(minutes(5));
    expect(given()?.signal.aborted).toBe(false);
    cancel.abort();
    expect(given()?.signal.aborted).toBe(true);
    await clock.advance(milliseconds(1999));
    expect(outcome).toBe("");
    await clock.advance(milliseconds(1));
    expect(outcome).toContain("pending.check of the provider did not end within 2s after its cancellation");
    expect(abandoned).toEqual([{ operation: "pending.check", object: "7", why: "cancelled" }]);
    expect(clock.pending).toBe(0);
  });

  test("aborts the signal of a call that never settles at the deadline, and abandons the call two seconds later", async () => {
    const { clock, abandoned, run, cancel, given } = setUp();
    let outcome = "";
    void run(never).catch((error: unknown) => {
      outcome = String(error);
    });
    await clock.advance(longestCall);
    // The caller's signal is not aborted, because only this call is over.
    expect([given()?.signal.aborted, cancel.signal.aborted, outcome]).toEqual([true, false, ""]);
    await clock.advance(seconds(2));
    expect(outcome).toContain("pending.check of the provider did not end within 15m");
    expect(abandoned).toEqual([{ operation: "pending.check", object: "7", why: "deadline" }]);
    expect(clock.pending).toBe(0);
  });

  test("abandons a call that began after its cancellation", async () => {
    const { clock, abandoned, run, cancel } = setUp();
    cancel.abort();
    const outcome = run(never).catch(String);
    await clock.advance(seconds(2));
    expect(await outcome).toContain("did not end");
    expect(abandoned).toHaveLength(1);
  });
});

describe("a provider's stream", () => {
  test("ends a provider's stream when its reader stops", async () => {
    const { follow } = setUp();
    let isEnded = false;
    const pages = async function* () {
      try {
        yield [];
        yield [];
      } finally {
        isEnded = true;
      }
    };
    for await (const page of follow(pages)) {
      expect(page).toEqual([]);
      break;
    }
    expect(isEnded).toBe(true);
  });

  test("a provider's stream waits indefinitely for the next page", async () => {
    const { follow, clock, abandoned } = setUp();
    const next = Promise.withResolvers<readonly ChangeHint[]>();
    const pages = async function* () {
      yield await next.promise;
    };
    const first = follow(pages)[Symbol.asyncIterator]().next();
    await clock.advance(minutes(600));
    next.resolve([]);
    expect([await first, abandoned]).toEqual([{ done: false, value: [] }, []]);
  });

  test("abandons a cancelled stream whose later page never arrives", async () => {
    const { follow, clock, cancel, abandoned } = setUp();
    const pages = async function* () {
      yield [];
      yield await never();
    };
    const read: unknown[] = [];
    const reading = async () => {
      for await (const page of follow(pages)) read.push(page);
    };
    const outcome = reading().catch(String);
    cancel.abort();
    await clock.advance(seconds(2));
    expect(await outcome).toContain("changes.follow of the provider did not end");
    expect([read, abandoned]).toEqual([
      [[]],
      [{ operation: "changes.follow", object: "", why: "cancelled" }],
    ]);
  });

  test("abandons a stream that does not end after its reader has stopped", async () => {
    const { follow, clock, cancel, abandoned } = setUp();
    const pages = async function* () {
      try {
        yield [];
      } finally {
        await never();
      }
    };
    const reading = async () => {
      for await (const page of follow(pages)) throw new Error(`stopped at ${page.length}`);
    };
    const outcome = reading().catch(String);
    cancel.abort();
    await clock.advance(seconds(2));
    expect(await outcome).toContain("stopped at 0");
    expect(abandoned).toEqual([{ operation: "changes.follow", object: "", why: "cancelled" }]);
  });
});

import { describe, expect, test } from "bun:test";
import { RenewingCredential } from "../../src/cloud/credential.ts";
import { backoffAfter } from "../../src/cloud/error-policies.ts";
import { rateLimitOf } from "../../src/cloud/read-rate-limit.ts";
import { delayAfterError } from "../../src/controllers/classify-error.ts";
import { milliseconds, seconds } from "../../src/core/brand.ts";
import { seededRandom } from "../../src/platform/random.ts";
import type { Moment } from "../../src/provider/call.ts";
import { CloudError } from "../../src/provider/errors.ts";
import type { Fetched } from "../../src/provider/provider.ts";
import { VirtualClock } from "../../src/testing/virtual-time/virtual-clock.ts";

describe("a credential [F70]", () => {
  const setUpCredential = (fetchOne: (count: number) => Promise<Fetched<string>>, fraction = 0) => {
    const clock = new VirtualClock();
    let count = 0;
    const random = { ...seededRandom(1), fraction: () => fraction };
    const credential = new RenewingCredential(clock, random, () => fetchOne(++count));
    return { clock, credential, count: () => count };
  };

  /** A credential that is valid for an hour; its renewal has this result. */
  const setUpHourly = (renewal: () => Promise<Fetched<string>>) =>
    setUpCredential((n) =>
      n === 1 ? Promise.resolve({ value: "t1", goodUntil: { in: seconds(3600) } }) : renewal(),
    );

  test("fetches a credential once for all waiting callers", async () => {
    const { credential, count } = setUpCredential(async (n) => ({ value: `t${n}` }));
    const all = await Promise.all([credential.current(), credential.current(), credential.current()]);
    expect([...all, count()]).toEqual(["t1", "t1", "t1", 1]);
  });

  test.each([
    [100, 0, 80],
    [100, 1, 70],
    [3600, 0.5, 2700],
  ])(
    "renews a credential that is valid for %p s, with jitter %p, after %p s",
    async (life, fraction, renewed) => {
      const { clock, credential } = setUpCredential(
        async (n) => ({ value: `t${n}`, goodUntil: { in: seconds(life) } }),
        fraction,
      );
      await credential.current();
      await clock.advance(milliseconds(renewed * 1000 - 1));
      await credential.current();
      await clock.advance(milliseconds(0));
      expect(await credential.current()).toBe("t1");
      await clock.advance(milliseconds(1));
      await credential.current();
      await clock.advance(milliseconds(0));
      expect(await credential.current()).toBe("t2");
    },
  );

  test("uses a credential until it expires while its renewal fails", async () => {
    const { clock, credential, count } = setUpHourly(() => Promise.reject(new Error("no renewal")));
    for (let second = 0; second < 3600; second += 1) {
      expect(await credential.current()).toBe("t1");
      await clock.advance(seconds(1));
    }
    // 12 minutes, at most every 30 s after the first backoffs.
    expect(count()).toBeWithin(20, 40);
    await expect(credential.current()).rejects.toThrow("no renewal");
  });

  test("uses a credential without waiting for a renewal that hangs", async () => {
    const { clock, credential } = setUpHourly(() => new Promise(() => undefined));
    await credential.current();
    for (const passed of [3000, 599]) {
      await clock.advance(seconds(passed));
      let value: string | undefined;
      void credential.current().then((current) => {
        value = current;
      });
      await clock.advance(milliseconds(0));
      expect(value).toBe("t1");
    }
  });

  test("does not use a rejected credential, although its renewal fails", async () => {
    const { clock, credential } = setUpHourly(() => Promise.reject(new Error("no renewal")));
    await credential.current();
    await clock.advance(seconds(3000));
    expect(await credential.current()).toBe("t1");
    credential.discard("t1");
    await expect(credential.current()).rejects.toThrow("no renewal");
  });

  test("fetches a credential again with a backoff from 1 s to 30 s after a failure", async () => {
    let isDown = true;
    const { clock, credential, count } = setUpCredential(async (n) => {
      if (isDown) throw new Error(`no ${n}`);
      return { value: `t${n}` };
    });
    const ask = () => credential.current().catch((error: Error) => error.message);
    const fetchedAt: number[] = [];
    for (let second = 0; second < 130; second += 1) {
      const before = count();
      expect(new Set(await Promise.all([ask(), ask(), ask()])).size).toBe(1);
      if (count() > before) fetchedAt.push(second);
      await clock.advance(seconds(1));
    }
    expect(fetchedAt).toEqual([0, 1, 3, 7, 15, 31, 61, 91, 121]);
    isDown = false;
    expect(await ask()).toBe("no 9");
    await clock.advance(seconds(30));
    expect(await ask()).toBe("t10");
    credential.discard("t10");
    // The fetch succeeded, so the backoff starts again from the beginning.
    isDown = true;
    expect(await ask()).toBe("no 11");
    await clock.advance(seconds(1));
    isDown = false;
    expect(await ask()).toBe("t12");
  });

  test("does not keep a credential that was discarded during its fetch", async () => {
    const open: (() => void)[] = [];
    const { credential } = setUpCredential(
      (n) => new Promise((resolve) => open.push(() => resolve({ value: `t${n}` }))),
    );
    const old = credential.current();
    credential.discard();
    const fresh = credential.current();
    for (const finish of open) finish();
    expect([await old, await fresh, await credential.current()]).toEqual(["t1", "t2", "t2"]);
  });

  test("a credential is discarded only by a call that was rejected with this credential", async () => {
    const { credential } = setUpCredential(async (n) => ({ value: `t${n}` }));
    await credential.current();
    credential.discard("t0");
    expect(await credential.current()).toBe("t1");
    credential.discard("t1");
    expect(await credential.current()).toBe("t2");
  });
});

describe("the rate limit in response headers [N4]", () => {
  const now = Date.UTC(2026, 0, 1);
  test.each([
    [
      { "ratelimit-limit": "100", "ratelimit-remaining": "40", "ratelimit-reset": "30" },
      200,
      { limit: 100, remaining: 40, resetIn: 30_000 },
    ],
    [
      { "x-ratelimit-limit": "5000, 5000;w=3600", "x-ratelimit-remaining": "1" },
      200,
      { limit: 5000, remaining: 1 },
    ],
    [{ "ratelimit-reset": String(now / 1000 + 60) }, 200, { resetIn: 60_000 }],
    [{ "retry-after": "3" }, 429, { closedFor: 3000 }],
    [{ "ratelimit-reset": "9" }, 429, { resetIn: 9000, closedFor: 9000 }],
    [{}, 429, {}],
    [{ "ratelimit-limit": "many" }, 200, {}],
  ])("parses the rate limit from %j with status %p", (headers, status, news) => {
    expect(rateLimitOf(new Response("", { status, headers }), now)).toEqual(
      news as ReturnType<typeof rateLimitOf>,
    );
  });

  test("a rate limit reset may be a date, and is never negative", () => {
    const after = (value: string) =>
      rateLimitOf(new Response("", { status: 429, headers: { "retry-after": value } }), now).closedFor;
    expect(after(new Date(now + 4000).toUTCString())).toBe(seconds(4));
    expect(after(new Date(now - 4000).toUTCString())).toBe(seconds(0));
    expect(after(String(now / 1000 + 7))).toBe(seconds(7));
    expect([after("soon"), after("")]).toEqual([undefined, undefined]);
  });
});

describe("the delay after a cloud error", () => {
  const clock = new VirtualClock();
  const random = { ...seededRandom(1), fraction: () => 1 };
  const refused = (retryAfter: Moment, cause?: string) =>
    new CloudError("rate-limited", "slow", { operation: "x", retryAfter, cause });
  const inSeconds = (count: number) => ({ in: seconds(count) });

  test.each([
    ["is the delay that the cloud requests", refused(inSeconds(90)), 1, 90],
    ["is the delay that the cloud requests, even when the backoff is longer", refused(inSeconds(2)), 5, 2],
    ["is at most 15 minutes when the cloud requests six hours", refused(inSeconds(21_600)), 1, 900],
    ["is at most 15 minutes when the cloud names a date", refused({ at: clock.now() + 21_600_000 }), 1, 900],
    ["is the backoff when the requested time has passed", refused({ at: clock.now() - 1000 }), 3, 20],
    ["is the backoff when the circuit breaker opens earlier", refused(inSeconds(2), "breaker"), 3, 20],
    ["is the backoff when the cloud requests no delay", new Error("bug"), 2, 2],
  ])("%s", (_, error, failures, expected) => {
    expect(backoffAfter(error, failures, clock, random)).toBe(seconds(expected));
  });

  test("does not align a delay that the cloud requests with other delays", async () => {
    await clock.advance(milliseconds(1));
    const after = (error: unknown) => delayAfterError(error, 1, { clock, random });
    expect(after(refused(inSeconds(90)))).toBe(seconds(90));
    expect(after(new Error("bug"))).toBeGreaterThan(seconds(1));
  });
});

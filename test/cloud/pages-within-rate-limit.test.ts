// A listing that requests several pages at once stays within the rate limit, and leaves the reserve for more urgent calls.

import { expect, test } from "bun:test";
import { openAccount } from "../../src/cloud/account.ts";
import { milliseconds, minutes, seconds } from "../../src/core/brand.ts";
import { pagesByNumber } from "../../src/kit/pages.ts";
import { sleep } from "../../src/platform/clock.ts";
import { seededRandom } from "../../src/platform/random.ts";
import type { Call, CloudRequest } from "../../src/provider/call.ts";
import { CloudError } from "../../src/provider/errors.ts";
import { VirtualClock } from "../../src/testing/virtual-time/virtual-clock.ts";

const { signal } = new AbortController();

/** A cloud with 100 pages and a limit per minute, of which only `left` remain when the process starts. */
const setUp = (limit: number, left: number) => {
  const clock = new VirtualClock();
  const random = seededRandom(5);
  const served: number[] = [];
  let minute = 0;
  let remaining = left;
  let refused = 0;
  const { transport } = openAccount<string>(
    { name: "main", fetch: async () => ({ value: "t" }), sign: (request) => request },
    {
      transport: async ({ url }) => {
        await sleep(clock, milliseconds(5 + random.fraction() * 20), signal);
        if (Math.floor(clock.monotonic() / 60_000) > minute) {
          minute = Math.floor(clock.monotonic() / 60_000);
          remaining = limit;
        }
        if (remaining === 0) refused += 1;
        else served.push(clock.monotonic());
        const isFree = remaining > 0;
        remaining = Math.max(0, remaining - 1);
        const headers = {
          "ratelimit-limit": String(limit),
          "ratelimit-remaining": String(remaining),
          "ratelimit-reset": String(Math.ceil(60 - (clock.now() % 60_000) / 1000)),
        };
        await sleep(clock, milliseconds(5 + random.fraction() * 20), signal);
        return new Response(new URL(url).search.slice(1), { status: isFree ? 200 : 429, headers });
      },
      clock,
      random,
      mayMutate: () => true,
      report: () => undefined,
      signal,
    },
  );
  const get = (page: number, call: Call): Promise<number> => {
    const operation = "GET /things";
    const request: CloudRequest = {
      method: "GET",
      url: `https://cloud/things?${page}`,
      operation,
      mutates: false,
    };
    return transport(request, call, async (response) => {
      if (!response.ok) throw new CloudError("rate-limited", "429", { operation });
      return Number(await response.text());
    });
  };
  let listed: readonly number[] | undefined;
  const list = async (): Promise<void> => {
    const all: number[] = [];
    const pages = pagesByNumber({ operation: "GET /things" }, async (page) => {
      const item = await get(page, { signal, urgency: "refresh" });
      return { items: [item], total: 100, next: page < 100 ? page + 1 : null };
    });
    for await (const page of pages) all.push(...page);
    listed = all;
  };
  return {
    clock,
    served,
    get,
    list,
    refused: () => refused,
    listed: () => listed,
  };
};

test.each([
  [40, 40],
  [40, 20],
  [60, 17],
])(
  "a listing at the start exceeds neither a limit of %p nor its remaining %p requests",
  async (limit, left) => {
    const w = setUp(limit, left);
    const listing = w.list();
    await w.clock.advance(seconds(30));
    const reserve = limit / 4;
    expect(w.served.length).toBe(left - reserve);
    const change = w.get(0, { signal, urgency: "user-change" });
    await w.clock.advance(seconds(1));
    expect(await change).toBe(0);
    await w.clock.until(() => w.listed() !== undefined, minutes(10), "the listing");
    await listing;
    expect(w.listed()).toEqual(Array.from({ length: 100 }, (_, index) => index + 1));
    expect([w.refused(), w.served.length]).toEqual([0, 101]);
  },
);

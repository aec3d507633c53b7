import { expect, test } from "bun:test";
import { SharedListing } from "../../src/cloud/inventory/shared-listing.ts";
import { milliseconds, minutes, seconds } from "../../src/core/brand.ts";
import { seededRandom } from "../../src/platform/random.ts";
import type { Moment } from "../../src/provider/call.ts";
import { CloudError } from "../../src/provider/errors.ts";
import { VirtualClock } from "../../src/testing/virtual-time/virtual-clock.ts";

/** The times of listings, the first of which fails, while a caller requests one every second. */
const listingsWith = async (retryAfter: Moment, forMinutes: number) => {
  const clock = new VirtualClock();
  const began: number[] = [];
  const listing = new SharedListing<string>({
    keyOf: (name) => name,
    list: async function* () {
      if (began.push(clock.monotonic()) === 1)
        throw new CloudError("unavailable", "GET /x failed with 503", { operation: "GET /x", retryAfter });
      yield [];
    },
    clock,
    random: seededRandom(1),
    signal: new AbortController().signal,
  });
  while (clock.monotonic() < minutes(forMinutes)) {
    listing.request(clock.monotonic(), "user-change");
    await clock.advance(seconds(1));
    if (began.length > 1) break;
  }
  return { began, failure: listing.failure };
};

test.each<[string, (clock: VirtualClock) => Moment]>([
  ["an interval", () => ({ in: seconds(90) })],
  ["a point in time", (clock) => ({ at: clock.now() + seconds(90) })],
])("a shared listing is repeated after the Retry-After of a 503, given as %s", async (_, moment) => {
  const { began, failure } = await listingsWith(moment(new VirtualClock()), 3);
  expect((began[1] ?? 0) - (began[0] ?? 0)).toBeGreaterThanOrEqual(seconds(90) - milliseconds(20));
  expect(began[1]).toBeLessThanOrEqual(seconds(91));
  expect(failure).toBeUndefined();
});

test("a shared listing waits at most 15 minutes for a Retry-After of a day", async () => {
  const { began } = await listingsWith({ in: minutes(24 * 60) }, 20);
  expect(began[1]).toBeGreaterThan(minutes(14));
  expect(began[1]).toBeLessThanOrEqual(minutes(15) + seconds(1));
});

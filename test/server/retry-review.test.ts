import { describe, expect, test } from "bun:test";
import { type Milliseconds, seconds } from "../../src/core/brand.ts";
import { defined } from "../../src/core/defined.ts";
import { KubeError } from "../../src/kube/errors/kube-error.ts";
import { seededRandom } from "../../src/platform/random.ts";
import { retryReview, TooManyReviews } from "../../src/server/reviews.ts";
import { VirtualClock } from "../../src/testing/virtual-time/virtual-clock.ts";

describe("retryReview", () => {
  const overloaded = (status: number, retryAfter?: Milliseconds) =>
    new KubeError("server", "no", { operation: "create tokenreviews", status, ...defined({ retryAfter }) });
  const reset = new KubeError("unreachable", "no", {
    operation: "create tokenreviews",
    cause: Object.assign(new Error("x"), { code: "ECONNRESET" }),
  });
  /** The attempts in milliseconds, and the outcome. */
  const attemptsWith = async (errors: readonly (Error | undefined)[]) => {
    const clock = new VirtualClock();
    const attempts: number[] = [];
    const asking = retryReview(
      async () => {
        const error = errors[Math.min(attempts.push(clock.monotonic()), errors.length) - 1];
        if (error !== undefined) throw error;
        return { authenticated: true };
      },
      { clock, random: { ...seededRandom(1), fraction: () => 0 }, signal: new AbortController().signal },
    );
    const outcome = asking("tokenreviews", { token: "t" }).then(
      () => "answered",
      () => "failed",
    );
    await clock.advance(seconds(60));
    return { attempts, outcome: await outcome };
  };

  test.each([
    ["status 500", overloaded(500)],
    ["status 504", overloaded(504)],
    ["status 429", overloaded(429)],
    ["a connection that was reset", reset],
  ])("retries a review with growing delays after %s, at most five times", async (_, error) => {
    expect(await attemptsWith([error, undefined])).toEqual({ attempts: [0, 500], outcome: "answered" });
    expect(await attemptsWith([error])).toEqual({ attempts: [0, 500, 1250, 2375, 4063], outcome: "failed" });
  });

  test("waits for as long as the server requests before another review, but at most ten seconds in all", async () => {
    expect((await attemptsWith([overloaded(503, seconds(4))])).attempts).toEqual([0, 4000, 8000]);
    expect((await attemptsWith([overloaded(503, seconds(11))])).attempts).toEqual([0]);
  });

  test.each([
    ["a refusal", new KubeError("forbidden", "no", { operation: "create tokenreviews", status: 403 })],
    ["status 503 without Retry-After", overloaded(503)],
    ["an unreachable server", new KubeError("unreachable", "no", { operation: "create tokenreviews" })],
    ["too many waiting reviews", new TooManyReviews()],
  ])("does not retry a review after %s", async (_, error) => {
    expect(await attemptsWith([error])).toEqual({ attempts: [0], outcome: "failed" });
  });
});

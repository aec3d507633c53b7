// Repeats a review that the API server could not answer at the moment, as upstream does, so that one overloaded moment does
// not fail the request of a client with a valid token.

import { type Milliseconds, milliseconds, seconds } from "../core/brand.ts";
import { codeOf } from "../core/errors.ts";
import { isKubeError } from "../kube/errors/kube-error.ts";
import { type Clock, sleep } from "../platform/clock.ts";
import type { Random } from "../platform/random.ts";
import type { AskReview } from "./reviews.ts";

// Upstream's figures.
const maxAttempts = 5;
const firstDelay = milliseconds(500);
const factor = 1.5;
const jitter = 0.2;
/** How long after the first attempt another one may begin. */
const maxDuration = seconds(10);

export interface RetryDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly signal: AbortSignal;
}

/**
 * As in upstream, a refused connection or an expired deadline is not retried, because the client would only wait
 * longer.
 */
function isTransient(error: unknown): boolean {
  if (!isKubeError(error)) return false;
  const isStatus = error.status !== undefined && [429, 500, 504].includes(error.status);
  return isStatus || error.retryAfter !== undefined || codeOf(error.cause) === "ECONNRESET";
}

function delayAfter(error: unknown, attempts: number, random: Random): Milliseconds {
  const delay = firstDelay * factor ** (attempts - 1) * (1 + jitter * random.fraction());
  const requested = isKubeError(error) ? (error.retryAfter ?? 0) : 0;
  return milliseconds(Math.round(Math.max(delay, requested)));
}

export function retryReview(ask: AskReview, { clock, random, signal }: RetryDeps): AskReview {
  return async (kind, spec) => {
    const end = clock.monotonic() + maxDuration;
    for (let attempts = 1; ; attempts += 1) {
      try {
        return await ask(kind, spec);
      } catch (error) {
        const delay = delayAfter(error, attempts, random);
        const isLate = clock.monotonic() + delay > end;
        if (!isTransient(error) || attempts >= maxAttempts || isLate) throw error;
        await sleep(clock, delay, signal);
      }
    }
  };
}

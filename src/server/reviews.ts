// Asks the API server who sends a bearer token and what a user may do. Only a few reviews are sent at a time, so that a flood of new
// tokens cannot use up the requests that the Lease needs.

import { type Milliseconds, milliseconds, seconds } from "../core/brand.ts";
import { runtimeCodeOf } from "../core/error-message.ts";
import type { KubeApi } from "../kube/client/api.ts";
import { isKubeError } from "../kube/errors/kube-error.ts";
import { type Clock, sleep } from "../platform/clock.ts";
import type { Random } from "../platform/random.ts";

export type ReviewKind = "tokenreviews" | "subjectaccessreviews";

/** Returns the status of the review. Throws `TooManyReviews` or the request's error. */
export type AskReview = (kind: ReviewKind, spec: object) => Promise<object>;

export class TooManyReviews extends Error {
  constructor() {
    super("Too many access reviews are waiting for the API server. Retry in a second.");
    this.name = "TooManyReviews";
  }
}

export interface ReviewsOptions {
  readonly api: Pick<KubeApi, "request">;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly onReview: (kind: ReviewKind, code: string, durationMs: number) => void;
}

const kinds = {
  tokenreviews: { group: "authentication.k8s.io", kind: "TokenReview" },
  subjectaccessreviews: { group: "authorization.k8s.io", kind: "SubjectAccessReview" },
} as const;

const maxInFlight = 4;
const maxWaiting = 64;

export class Reviews {
  readonly #options: ReviewsOptions;
  #inFlight = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(options: ReviewsOptions) {
    this.#options = options;
  }

  async ask(plural: ReviewKind, spec: object): Promise<object> {
    const { api, clock, signal, onReview } = this.#options;
    const { group, kind } = kinds[plural];
    await this.#enter();
    const started = clock.monotonic();
    let code = "error";
    try {
      const reply = (await api.request(
        {
          verb: "create",
          resource: plural,
          path: `/apis/${group}/v1/${plural}`,
          body: { apiVersion: `${group}/v1`, kind, metadata: {}, spec },
          deadline: seconds(10),
        },
        signal,
      )) as { readonly status?: object };
      code = "201";
      return reply.status ?? {};
    } catch (error) {
      if (isKubeError(error) && error.status !== undefined) code = String(error.status);
      throw error;
    } finally {
      this.#leave();
      onReview(plural, code, milliseconds(clock.monotonic() - started));
    }
  }

  async #enter(): Promise<void> {
    if (this.#inFlight < maxInFlight) {
      this.#inFlight += 1;
      return;
    }
    if (this.#waiting.length >= maxWaiting) throw new TooManyReviews();
    // `#leave` hands over its place, so the place is already counted.
    await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  #leave(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#inFlight -= 1;
    else next();
  }
}

/** Upstream's values, like the next three. */
const maxAttempts = 5;
const firstDelay = milliseconds(500);
const factor = 1.5;
const jitter = 0.2;
/** No further attempt is made after this time. */
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
  return isStatus || error.retryAfter !== undefined || runtimeCodeOf(error.cause) === "ECONNRESET";
}

function delayAfter(error: unknown, attempts: number, random: Random): Milliseconds {
  const delay = firstDelay * factor ** (attempts - 1) * (1 + jitter * random.fraction());
  const requested = isKubeError(error) ? (error.retryAfter ?? 0) : 0;
  return milliseconds(Math.round(Math.max(delay, requested)));
}

/**
 * Repeats a review that the API server could not answer, as upstream does, so that a brief overload does not
 * fail the request of a client with a valid token.
 */
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

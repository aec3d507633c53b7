// Sends TokenReviews and SubjectAccessReviews, only a few at a time, so that a flood of new tokens cannot use up the requests
// that the Lease needs.

import { milliseconds, seconds } from "../core/brand.ts";
import type { KubeApi } from "../kube/client/api.ts";
import { isKubeError } from "../kube/errors/kube-error.ts";
import type { Clock } from "../platform/clock.ts";

export type ReviewKind = "tokenreviews" | "subjectaccessreviews";

/** Returns the status of the review. Throws `TooManyReviews` or the error of the request. */
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
    // `#leave` passes its place on, so it is already counted.
    await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  #leave(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#inFlight -= 1;
    else next();
  }
}

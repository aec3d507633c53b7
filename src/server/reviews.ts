// Questions to the API server about who somebody is and what they may do. Few at once: whoever floods us with new tokens
// must not fill the places that the Lease needs.

import { milliseconds, seconds } from "../core/brand.ts";
import type { KubeApi } from "../kube/client/api.ts";
import { isKubeError } from "../kube/errors/kube-error.ts";
import type { Clock } from "../platform/clock.ts";

export type ReviewKind = "tokenreviews" | "subjectaccessreviews";

/** The status of the review. Throws `TooManyReviews` or what the API server's refusal is thrown as. */
export type AskReview = (kind: ReviewKind, spec: object) => Promise<object>;

export class TooManyReviews extends Error {
  constructor() {
    super("Too many questions about access wait for the API server; ask again in a second.");
    this.name = "TooManyReviews";
  }
}

export interface ReviewsOptions {
  readonly api: Pick<KubeApi, "request">;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly onReview: (kind: ReviewKind, code: string, durationMs: number) => void;
}

const known = {
  tokenreviews: { group: "authentication.k8s.io", kind: "TokenReview" },
  subjectaccessreviews: { group: "authorization.k8s.io", kind: "SubjectAccessReview" },
} as const;

const limits = { atOnce: 4, waiting: 64 } as const;

export function createReviews({ api, clock, signal, onReview }: ReviewsOptions): AskReview {
  let running = 0;
  const line: (() => void)[] = [];
  const enter = async (): Promise<void> => {
    if (running < limits.atOnce) {
      running += 1;
      return;
    }
    if (line.length >= limits.waiting) throw new TooManyReviews();
    // The place is handed on, so it stays counted.
    await new Promise<void>((go) => line.push(go));
  };
  const leave = (): void => {
    const next = line.shift();
    if (next === undefined) running -= 1;
    else next();
  };
  return async (plural, spec) => {
    const { group, kind } = known[plural];
    await enter();
    const began = clock.monotonic();
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
      leave();
      onReview(plural, code, milliseconds(clock.monotonic() - began));
    }
  };
}

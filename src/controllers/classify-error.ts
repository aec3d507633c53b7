// Classifies errors for the controllers: whether an error is only a write conflict, when to retry, and how to describe it.

import { backoffAfter, errorPolicies, isFenced, requestedDelay } from "../cloud/error-policies.ts";
import { type Milliseconds, minutes, seconds } from "../core/brand.ts";
import { defined } from "../core/defined.ts";
import { promiseOf, textOf } from "../core/error-message.ts";
import type { Problem } from "../core/problem.ts";
import { willRetry } from "../core/retry-promise.ts";
import { withoutFullStop } from "../core/text.ts";
import { isKubeError } from "../kube/errors/kube-error.ts";
import type { Clock } from "../platform/clock.ts";
import type { Random } from "../platform/random.ts";
import { CloudError, type CloudErrorKind } from "../provider/errors.ts";
import { alignToGrid, backoff } from "../runtime/backoff.ts";

const lostRaceBackoff = { first: seconds(0.1), cap: minutes(1) };

/** The object was changed or deleted before the write: a guard of the patch or a precondition of the delete failed. */
export function isLostRace(error: unknown): boolean {
  return isKubeError(error, "precondition", "conflict", "not-found");
}

/**
 * The delay before a key is retried after its n-th consecutive error. Delays after cloud errors are aligned, so that
 * keys retry together, unless the cloud requested a delay.
 */
export function delayAfterError(
  error: unknown,
  failures: number,
  { clock, random }: { readonly clock: Clock; readonly random: Random },
): Milliseconds {
  if (isLostRace(error)) return backoff(failures, lostRaceBackoff, random);
  const delay = backoffAfter(error, failures, clock, random);
  return requestedDelay(error, clock) === undefined ? alignToGrid(clock.monotonic(), delay) : delay;
}

/** Describes an error for events and conditions, including what the cloud's code means. */
export function describeFailure(error: unknown): Pick<Problem, "text" | "remedy" | "promise"> {
  const [text, promise] = [textOf(error), promiseOf(error)];
  if (!CloudError.is(error) || error.kind !== "quota") return defined({ text, promise });
  return {
    text: `A quota of the cloud account is exhausted: ${withoutFullStop(text)}.`,
    remedy: "Raise the quota, or delete what is not needed.",
    promise: willRetry,
  };
}

/** Undefined for errors that need no action, such as a lost race. */
export function problemOfError(error: unknown): Problem | undefined {
  if (CloudError.is(error)) {
    return { severity: "error", reason: errorPolicies[error.kind].reason, ...describeFailure(error) };
  }
  if (isKubeError(error)) {
    if (isLostRace(error) || error.kind === "fenced") return undefined;
    return { severity: "error", reason: "KubernetesRefused", ...describeFailure(error) };
  }
  return { severity: "error", reason: "InternalError", ...describeFailure(error) };
}

const refusals: ReadonlySet<CloudErrorKind> = new Set([
  "invalid",
  "busy",
  "quota",
  "unauthorized",
  "forbidden",
  "rate-limited",
]);

/** The cloud rejected the request, or says when to send it again. After any other error the request may have had an effect. */
export function isRefusal(error: unknown): boolean {
  if (!CloudError.is(error)) return false;
  const { cause, retryAfter } = error.detail;
  const isUnsent = isFenced(error) || cause === "breaker";
  return isUnsent || retryAfter !== undefined || refusals.has(error.kind);
}

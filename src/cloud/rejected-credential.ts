// Remembers a credential that the cloud has rejected. The same credential is tried again with growing intervals only, because
// some clouds block an address after a few failed logins.

import { type Milliseconds, seconds } from "../core/brand.ts";
import type { Clock } from "../platform/clock.ts";
import type { Urgency } from "../provider/call.ts";
import type { CloudError } from "../provider/errors.ts";
import { fullBackoff } from "../runtime/backoff.ts";
import { errorPolicies } from "./error-policies.ts";

interface Rejection<T> {
  readonly value: T;
  readonly error: CloudError;
  readonly failures: number;
  /** Monotonic. */
  readonly at: number;
}

/** A user waits for the result, and the cloud may accept the credential again. */
const longestForUsers = seconds(30);

/** How long the same credential is not sent. */
function holdFor(failures: number, urgency: Urgency): Milliseconds {
  const { first, cap } = errorPolicies.unauthorized.retry;
  return fullBackoff(failures, { first, cap: urgency === "user-change" ? longestForUsers : cap });
}

export class RejectedCredential<T> {
  readonly #clock: Clock;
  #rejection: Rejection<T> | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The credential of the last request, if that was rejected. */
  get value(): T | undefined {
    return this.#rejection?.value;
  }

  /** The error of a request with this credential that need not be sent; undefined when it should be. */
  errorOf(value: T, urgency: Urgency): CloudError | undefined {
    const rejection = this.#rejection;
    if (rejection === undefined || !Bun.deepEquals(value, rejection.value)) return undefined;
    this.#rejection = { ...rejection, value };
    const { at, failures, error } = rejection;
    return this.#clock.monotonic() < at + holdFor(failures, urgency) ? error : undefined;
  }

  /** Many requests that are rejected together count once. */
  reject(value: T, error: CloudError): void {
    if (this.errorOf(value, "user-change") !== undefined) return;
    const before = this.#rejection;
    const isSame = before !== undefined && Bun.deepEquals(value, before.value);
    const failures = isSame ? before.failures + 1 : 1;
    this.#rejection = { value, error, failures, at: this.#clock.monotonic() };
  }

  accept(): void {
    this.#rejection = undefined;
  }
}

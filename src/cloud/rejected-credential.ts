// Remembers a credential that the cloud has rejected. The same credential is tried again with growing intervals only, because
// some clouds block an address after a few failed logins.

import type { Clock } from "../platform/clock.ts";
import type { CloudError } from "../provider/errors.ts";
import { fullBackoff } from "../runtime/backoff.ts";
import { errorPolicies } from "./error-policies.ts";

interface Rejection<T> {
  readonly value: T;
  readonly error: CloudError;
  readonly failures: number;
  /** Monotonic. Before this time the same credential is not sent. */
  readonly until: number;
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
  errorOf(value: T): CloudError | undefined {
    const rejection = this.#rejection;
    if (rejection === undefined || !Bun.deepEquals(value, rejection.value)) return undefined;
    this.#rejection = { ...rejection, value };
    return this.#clock.monotonic() < rejection.until ? rejection.error : undefined;
  }

  /** Many requests that are rejected together count once. */
  reject(value: T, error: CloudError): void {
    if (this.errorOf(value) !== undefined) return;
    const failures = Bun.deepEquals(value, this.#rejection?.value) ? (this.#rejection?.failures ?? 0) + 1 : 1;
    const until = this.#clock.monotonic() + fullBackoff(failures, errorPolicies.unauthorized.retry);
    this.#rejection = { value, error, failures, until };
  }

  accept(): void {
    this.#rejection = undefined;
  }
}

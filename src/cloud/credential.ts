// A credential that renews itself: all callers share one fetch, which is repeated well before the credential expires and
// after it was rejected. A failed fetch is retried with backoff, while a valid credential stays in use.

import { type Milliseconds, seconds } from "../core/brand.ts";
import { untilMoment } from "../core/duration.ts";
import type { Clock } from "../platform/clock.ts";
import type { Random } from "../platform/random.ts";
import type { Urgency } from "../provider/call.ts";
import type { CloudError } from "../provider/errors.ts";
import type { Fetched } from "../provider/provider.ts";
import { fullBackoff } from "../runtime/backoff.ts";
import { errorPolicies } from "./error-policies.ts";

/**
 * The share of the lifetime after which the credential is renewed. The jitter prevents replicas and accounts from renewing
 * together.
 */
const renewalShare = { latest: 0.8, jitter: 0.1 } as const;

const fetchBackoff = { first: seconds(1), cap: seconds(30) } as const;

export class RenewingCredential<T> {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #fetch: () => Promise<Fetched<T>>;
  #current: { readonly value: T; readonly renewAt: number; readonly endsAt: number } | undefined;
  #fetching: Promise<T> | undefined;
  #generation = 0;
  #failures = 0;
  /** The error that callers get during the backoff. */
  #failed: { readonly error: unknown; readonly until: number } | undefined;

  /** `fetch` uses its own signal, because an aborted caller must not fail other callers that wait for the same fetch. */
  constructor(clock: Clock, random: Random, fetch: () => Promise<Fetched<T>>) {
    this.#clock = clock;
    this.#random = random;
    this.#fetch = fetch;
  }

  /** A caller waits only if there is no valid credential; renewals happen in the background. */
  current(): Promise<T> {
    const now = this.#clock.monotonic();
    if (this.#current === undefined || now >= this.#current.endsAt) return this.#fetchUnlessFailed(now);
    // A failure matters only once the credential has expired or was rejected.
    if (now >= this.#current.renewAt) this.#fetchUnlessFailed(now).catch(() => undefined);
    return Promise.resolve(this.#current.value);
  }

  #fetchUnlessFailed(now: number): Promise<T> {
    if (this.#fetching === undefined && this.#failed !== undefined && now < this.#failed.until)
      return Promise.reject(this.#failed.error);
    this.#fetching ??= this.#renew(this.#generation);
    return this.#fetching;
  }

  /**
   * Makes the next caller fetch a new credential, unless the rejected credential was already replaced. Without an argument,
   * discards any credential.
   */
  discard(rejected?: T): void {
    // Many calls are rejected together. Only the first may discard the credential, or each would cancel the previous call's
    // fetch.
    if (rejected !== undefined && this.#current?.value !== rejected) return;
    this.#generation += 1;
    this.#current = undefined;
    this.#fetching = undefined;
  }

  async #renew(generation: number): Promise<T> {
    try {
      const { value, goodUntil } = await this.#fetch();
      this.#failures = 0;
      this.#failed = undefined;
      const life =
        goodUntil === undefined ? Number.POSITIVE_INFINITY : untilMoment(goodUntil, this.#clock.now());
      // A credential that was discarded during its fetch is not kept.
      if (generation === this.#generation) {
        const now = this.#clock.monotonic();
        const share = renewalShare.latest - renewalShare.jitter * this.#random.fraction();
        this.#current = { value, renewAt: now + life * share, endsAt: now + life };
      }
      return value;
    } catch (error) {
      this.#failures += 1;
      this.#failed = {
        error,
        until: this.#clock.monotonic() + fullBackoff(this.#failures, fetchBackoff),
      };
      throw error;
    } finally {
      if (generation === this.#generation) this.#fetching = undefined;
    }
  }
}

interface Rejection<T> {
  readonly value: T;
  readonly error: CloudError;
  readonly failures: number;
  /** Monotonic. */
  readonly at: number;
}

/** A user waits for the result, and the cloud may accept the credential again. */
const longestForUsers = seconds(30);

/** How long the same credential is not sent again. */
function holdFor(failures: number, urgency: Urgency): Milliseconds {
  const { first, cap } = errorPolicies.unauthorized.retry;
  return fullBackoff(failures, { first, cap: urgency === "user-change" ? longestForUsers : cap });
}

/**
 * Remembers a credential that the cloud has rejected. The same credential is retried only at growing intervals, because some clouds
 * block an address after a few failed logins.
 */
export class RejectedCredential<T> {
  readonly #clock: Clock;
  #rejection: Rejection<T> | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The credential of the last request, if it was rejected. */
  get value(): T | undefined {
    return this.#rejection?.value;
  }

  /** The error for a request that need not be sent with this credential; undefined if it should be sent. */
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

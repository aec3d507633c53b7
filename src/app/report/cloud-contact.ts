// What this process knows from its requests to the cloud: whether it has ever answered, for readiness and observe mode, the last
// failure, and the requests by account and operation. The metrics have the same counts by result; here is also the last error.

import type { CloudCallReport } from "../../cloud/governed-transport.ts";
import type { Clock } from "../../platform/clock.ts";

export interface OperationCalls {
  readonly account: string;
  readonly operation: string;
  readonly count: number;
  readonly failed: number;
  readonly totalMs: number;
  /** Wall time, as RFC 3339. */
  readonly lastAt: string;
  readonly lastError?: { readonly kind: string; readonly text: string; readonly at: string } | undefined;
}

/** Operations are a closed list per provider. The limit protects against one that puts an id into the name. */
const maxOperations = 200;

export class CloudContact {
  readonly #clock: Pick<Clock, "now">;
  readonly #byOperation = new Map<string, OperationCalls>();
  #hasAnswered = false;
  #failure: string | undefined;

  constructor(clock: Pick<Clock, "now">) {
    this.#clock = clock;
  }

  record({ account, operation, failure, message, durationMs }: CloudCallReport): void {
    const hasFailed = failure !== undefined;
    // The circuit breaker refuses requests because of an earlier failure, which says more.
    if (hasFailed && (failure !== "breaker" || this.#failure === undefined))
      this.#failure = `${operation} of account ${account} failed: ${message ?? failure}`;
    if (!hasFailed) this.#hasAnswered = true;
    const key = `${account} ${operation}`;
    const before = this.#byOperation.get(key);
    if (before === undefined && this.#byOperation.size >= maxOperations) return;
    const now = new Date(this.#clock.now()).toISOString();
    this.#byOperation.set(key, {
      account,
      operation,
      count: (before?.count ?? 0) + 1,
      failed: (before?.failed ?? 0) + (hasFailed ? 1 : 0),
      totalMs: (before?.totalMs ?? 0) + durationMs,
      lastAt: now,
      lastError: hasFailed
        ? { kind: failure, text: `${failure}: ${message ?? ""}`, at: now }
        : before?.lastError,
    });
  }

  get requests(): readonly OperationCalls[] {
    return [...this.#byOperation.values()];
  }

  /** Undefined after the first answer, even if later calls fail: an outage of the cloud must not make a replica unready. */
  get problem(): string | undefined {
    if (this.#hasAnswered) return undefined;
    return `the cloud has not answered yet: ${this.#failure ?? "no request was sent"}`;
  }
}

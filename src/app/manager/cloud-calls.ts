// What requests to the cloud this process has sent, by account and operation, for /status. The metrics have the same counts by
// result; here is also the last error message.

import type { CloudCallReport } from "../../cloud/governed-transport.ts";
import type { Clock } from "../../platform/clock.ts";

export interface OperationCalls {
  readonly account: string;
  readonly operation: string;
  readonly count: number;
  readonly failed: number;
  readonly totalMs: number;
  /** Wall time. */
  readonly lastAt: number;
  readonly lastError?: { readonly text: string; readonly at: number } | undefined;
}

/** Operations are a closed list per provider. The limit protects against one that puts an id into the name. */
const maxOperations = 200;

export class CloudCalls {
  readonly #clock: Pick<Clock, "now">;
  readonly #byOperation = new Map<string, OperationCalls>();

  constructor(clock: Pick<Clock, "now">) {
    this.#clock = clock;
  }

  record({ account, operation, failure, message, durationMs }: CloudCallReport): void {
    const key = `${account} ${operation}`;
    const before = this.#byOperation.get(key);
    if (before === undefined && this.#byOperation.size >= maxOperations) return;
    const now = this.#clock.now();
    const hasFailed = failure !== undefined;
    this.#byOperation.set(key, {
      account,
      operation,
      count: (before?.count ?? 0) + 1,
      failed: (before?.failed ?? 0) + (hasFailed ? 1 : 0),
      totalMs: (before?.totalMs ?? 0) + durationMs,
      lastAt: now,
      lastError: hasFailed ? { text: `${failure}: ${message ?? ""}`, at: now } : before?.lastError,
    });
  }

  get all(): readonly OperationCalls[] {
    return [...this.#byOperation.values()];
  }
}

// The process's knowledge about its cloud requests: whether the cloud has ever answered, for readiness and observe mode, the last
// failure, the current state of each account, and the requests by account and operation. The metrics contain the same counts by
// result; this class adds the last error.

import { errorPolicies } from "../../cloud/error-policies.ts";
import type { CloudCallReport } from "../../cloud/governed-transport.ts";
import type { Problem } from "../../core/problem.ts";
import type { Clock } from "../../platform/clock.ts";

interface OperationCalls {
  readonly account: string;
  readonly operation: string;
  readonly count: number;
  readonly failed: number;
  readonly totalMs: number;
  /** Wall time, as RFC 3339. */
  readonly lastAt: string;
  readonly lastError?: { readonly kind: string; readonly text: string; readonly at: string } | undefined;
}

/** Failures without a policy, such as a missed deadline or the circuit breaker, count as a missing answer. */
export const reasonOfFailure = (kind: string): string =>
  new Map<string, { readonly reason: string }>(Object.entries(errorPolicies)).get(kind)?.reason ??
  errorPolicies.unavailable.reason;

/** Why no request of an account has succeeded lately. */
interface AccountFailure extends Problem {
  /** HTTP status; absent without a response. */
  readonly status?: number | undefined;
  /** The time of the first failure in a row; monotonic. */
  readonly since: number;
}

/** An error about one request, such as a quota, is an answer: the account itself works. Undefined: the call shows neither. */
function isAnswer({ failure, isRepeated }: CloudCallReport): boolean | undefined {
  switch (failure) {
    case "unauthorized":
      // The request is repeated with a new credential.
      return isRepeated === true ? undefined : false;
    case "rate-limited":
    case "unavailable":
    case "deadline":
    case "breaker":
      return false;
    case "aborted":
    case "fenced":
    case "unexpected":
      return undefined;
    default:
      return true;
  }
}

/** Operations are a closed list per provider. The limit protects against one that puts an id into the name. */
const maxOperations = 200;

export class CloudContact {
  readonly #clock: Pick<Clock, "now" | "monotonic">;
  /** Whether each account answers; absent before the first request. */
  readonly #accounts = new Map<string, AccountFailure | "answers">();
  readonly #byOperation = new Map<string, OperationCalls>();
  #hasAnswered = false;
  #failure: Problem | undefined;

  constructor(clock: Pick<Clock, "now" | "monotonic">) {
    this.#clock = clock;
  }

  record(call: CloudCallReport): void {
    const { account, operation, failure, message, durationMs } = call;
    this.#recordAccount(call);
    const hasFailed = failure !== undefined;
    // The circuit breaker refuses requests because of an earlier failure, which says more.
    if (hasFailed && (failure !== "breaker" || this.#failure === undefined))
      this.#failure = {
        severity: "error",
        reason: reasonOfFailure(failure),
        text: `${operation} of account ${account} failed: ${message ?? failure}`,
      };
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

  #recordAccount(call: CloudCallReport): void {
    const { account, failure: kind = "", status, message: text = kind } = call;
    const answers = isAnswer(call);
    if (answers === undefined) return;
    const before = this.#accounts.get(account);
    const first = before === "answers" ? undefined : before;
    if (answers) this.#accounts.set(account, "answers");
    else if (first === undefined || kind !== "breaker")
      this.#accounts.set(account, {
        severity: "error",
        reason: reasonOfFailure(kind),
        status,
        text,
        since: first?.since ?? this.#clock.monotonic(),
      });
  }

  /** Undefined before the first request of the account. */
  stateOf(account: string): AccountFailure | "answers" | undefined {
    return this.#accounts.get(account);
  }

  get requests(): readonly OperationCalls[] {
    return [...this.#byOperation.values()];
  }

  /** Undefined after the first answer, even if later calls fail: an outage of the cloud must not make a replica unready. */
  get problem(): Problem | undefined {
    if (this.#hasAnswered) return undefined;
    const { reason, text } = this.#failure ?? { reason: reasonOfFailure(""), text: "none was sent" };
    return { severity: "error", reason, text: `no request to the cloud has succeeded yet: ${text}` };
  }
}

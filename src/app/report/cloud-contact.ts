// Tracks cloud requests: whether the cloud has ever answered (for readiness and observe mode), the last failure, the state of
// each account, and the requests by account and operation. The metrics contain the same counts by result;
// this class adds the last error.

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
  /** Wall-clock time in RFC 3339. */
  readonly lastAt: string;
  readonly lastError?: { readonly kind: string; readonly text: string; readonly at: string } | undefined;
}

/** Failures without a policy, such as a missed deadline or an open circuit breaker, count as a missing answer. */
export const reasonOfFailure = (kind: string): string =>
  new Map<string, { readonly reason: string }>(Object.entries(errorPolicies)).get(kind)?.reason ??
  errorPolicies.unavailable.reason;

/** Why no recent request of an account has succeeded. */
interface AccountFailure extends Problem {
  /** The HTTP status; unset without a response. */
  readonly status?: number | undefined;
  /** The time of the first consecutive failure (monotonic). */
  readonly since: number;
}

/** An error about one request, such as a quota, is an answer, because the account works. Undefined if the call proves neither. */
function isAnswer({ failure, isRepeated }: CloudCallReport): boolean | undefined {
  switch (failure) {
    case "unauthorized":
      // The request is repeated with a new credential, so this result proves nothing.
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

/** Each provider has a closed list of operations. The limit guards against a provider that puts an id into the operation name. */
const maxOperations = 200;

export class CloudContact {
  readonly #clock: Pick<Clock, "now" | "monotonic">;
  /** Whether each account answers; unset before the first request. */
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
    // The earlier failure that opened the circuit breaker is more informative.
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

  /** Undefined before the account's first request. */
  stateOf(account: string): AccountFailure | "answers" | undefined {
    return this.#accounts.get(account);
  }

  get requests(): readonly OperationCalls[] {
    return [...this.#byOperation.values()];
  }

  /** Undefined after the first answer, even if later calls fail, because a cloud outage must not make a replica unready. */
  get problem(): Problem | undefined {
    if (this.#hasAnswered) return undefined;
    const { reason, text } = this.#failure ?? { reason: reasonOfFailure(""), text: "none was sent" };
    return { severity: "error", reason, text: `no request to the cloud has succeeded yet: ${text}` };
  }
}

// Logs problems with the API server and with cloud accounts: once for all objects and watches that wait, again if the
// problem lasts, and when it is over.

import type { CloudCallReport } from "../../cloud/governed-transport.ts";
import { seconds } from "../../core/brand.ts";
import { defined } from "../../core/defined.ts";
import { promiseOf, textOf } from "../../core/error-message.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Log } from "../../telemetry/log.ts";
import { RepeatedMessages, repeatAfter } from "./repeated-messages.ts";

export class ApiServerProblems {
  readonly #log: Log;
  readonly #clock: Clock;
  #messages: RepeatedMessages;
  readonly #failing = new Set<string>();
  #since: number | undefined;

  constructor(log: Log, clock: Clock) {
    this.#log = log;
    this.#clock = clock;
    this.#messages = new RepeatedMessages(clock, 100);
  }

  /** Callers that report recovery set `watch`. */
  failed(error: unknown, watch?: string): void {
    const now = this.#clock.monotonic();
    if (watch !== undefined) {
      this.#failing.add(watch);
      this.#since ??= now;
    }
    const message = textOf(error);
    const next = this.#messages.next(message);
    if (next === "not now") return;
    const isRepeated = this.#since !== undefined && next === "again";
    this.#log.warn(
      message,
      isRepeated ? { forSeconds: Math.round((now - (this.#since ?? now)) / 1000) } : {},
      promiseOf(error),
    );
  }

  recovered(watch: string): void {
    this.#failing.delete(watch);
    if (this.#failing.size > 0 || this.#since === undefined) return;
    const afterSeconds = Math.round((this.#clock.monotonic() - this.#since) / 1000);
    this.#log.info("All watches of the API server work again", { afterSeconds });
    this.#since = undefined;
    this.#messages = new RepeatedMessages(this.#clock, 100);
  }
}

type Kind = "unreachable" | "rejected" | "not issued";

interface AccountProblem {
  readonly since: number;
  isReported: boolean;
  /** True if the request for a credential was rejected. A successful call may use an older credential, so it proves nothing. */
  isOfFetch: boolean;
}

const recovered: Readonly<Record<Kind, string>> = {
  unreachable: "The cloud is reachable again",
  rejected: "The cloud accepts the credentials again",
  "not issued": "The cloud issues credentials again",
};

/** How often to report an intermittent problem. */
const reportAgainAfter = seconds(30);

/** Classifies a call for its account. "answered" is an error which proves that the cloud is reachable. */
function kindOf(call: CloudCallReport): Kind | "answered" | "succeeded" | undefined {
  const { failure, status, isCredentialFetch, isRepeated } = call;
  switch (failure) {
    case undefined:
      return "succeeded";
    case "unauthorized":
      if (isRepeated === true) return "answered";
      // A signed request without a status was not sent, because no credential was available.
      return isCredentialFetch === true || status === undefined ? "not issued" : "rejected";
    case "unavailable":
    case "deadline":
    case "breaker":
      return status === undefined ? "unreachable" : undefined;
    case "aborted":
    case "fenced":
    case "unexpected":
      return undefined;
    default:
      return "answered";
  }
}

/** A shorter problem resets no backoff, because intermittent failures would then have none. */
const worthRetrying = seconds(5);

export class CloudProblems {
  readonly #log: Log;
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #onRecovery: () => void;
  readonly #problems = new Map<string, AccountProblem>();
  readonly #reportedAt = new Map<string, number>();

  /** `onRecovery` triggers an immediate retry of everything that waits. */
  constructor(log: Log, clock: Pick<Clock, "monotonic">, onRecovery: () => void = () => undefined) {
    this.#log = log;
    this.#clock = clock;
    this.#onRecovery = onRecovery;
  }

  record(call: CloudCallReport): void {
    const { account, isCredentialFetch = false } = call;
    const kind = kindOf(call);
    switch (kind) {
      case undefined:
        return;
      case "answered":
        this.#recover(account, "unreachable");
        return;
      case "succeeded":
        this.#recover(account, "unreachable");
        if (!isCredentialFetch) this.#recover(account, "rejected");
        if (isCredentialFetch || this.#problems.get(`not issued ${account}`)?.isOfFetch !== true)
          this.#recover(account, "not issued");
        return;
      default:
        this.#fail(call, kind);
    }
  }

  #fail({ account, message, promise, isCredentialFetch = false }: CloudCallReport, kind: Kind): void {
    const key = `${kind} ${account}`;
    const now = this.#clock.monotonic();
    const problem = this.#problems.get(key) ?? { since: now, isReported: false, isOfFetch: false };
    problem.isOfFetch ||= isCredentialFetch;
    this.#problems.set(key, problem);
    const last = this.#reportedAt.get(key);
    if (last !== undefined && now - last < (problem.isReported ? repeatAfter : reportAgainAfter)) return;
    this.#reportedAt.set(key, now);
    const forSeconds = problem.isReported ? Math.round((now - problem.since) / 1000) : undefined;
    this.#log.warn(message ?? "The cloud does not respond", defined({ account, forSeconds }), promise);
    problem.isReported = true;
  }

  #recover(account: string, kind: Kind): void {
    const key = `${kind} ${account}`;
    const problem = this.#problems.get(key);
    if (problem === undefined) return;
    this.#problems.delete(key);
    const lasted = this.#clock.monotonic() - problem.since;
    if (problem.isReported)
      this.#log.info(recovered[kind], { account, afterSeconds: Math.round(lasted / 1000) });
    if (lasted >= worthRetrying) this.#onRecovery();
  }
}

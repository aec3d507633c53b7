// The report of a smoke test: versions, steps, durations and numbers of requests. Contains no name, id, address or secret. Pure.

import type { CloudCallReport } from "../../cloud/governed-transport.ts";
import { CloudError } from "../../provider/errors.ts";
import { contractVersion } from "../../provider/provider.ts";
import { RpcError } from "../../volumes/grpc/status.ts";
import type { Part } from "./record.ts";
import { SmokeFailure } from "./trial.ts";

/** Why a step failed, in Fairlead's words and the cloud's codes, because a message may contain names. */
export interface FailureKind {
  readonly kind: string;
  readonly operation?: string | undefined;
  readonly status?: number | undefined;
  readonly code?: string | undefined;
}

export interface StepReport {
  readonly part: Part;
  readonly step: string;
  readonly seconds: number;
  readonly failure?: FailureKind | undefined;
}

export interface PartReport {
  readonly part: Part;
  readonly result: "passed" | "failed" | "interrupted" | "skipped";
  readonly isRemoved?: boolean | undefined;
}

export interface RequestCount {
  readonly operation: string;
  readonly sent: number;
  readonly failed: number;
}

export interface SmokeReport {
  readonly format: 1;
  readonly cloud: string;
  readonly version: string;
  readonly runtime: string;
  readonly contract: number;
  readonly date: string;
  readonly result: "passed" | "failed" | "interrupted";
  readonly parts: readonly PartReport[];
  readonly steps: readonly StepReport[];
  readonly requests: readonly RequestCount[];
}

/** A proxy may return any text as the code. */
const safeCode = (code: string | undefined): string | undefined =>
  /^[A-Za-z._]{1,64}$/.test(code ?? "") ? code : undefined;

export function failureKind(error: unknown): FailureKind {
  const cause = error instanceof RpcError && CloudError.is(error.cause) ? error.cause : error;
  if (CloudError.is(cause)) {
    const { operation, status, code } = cause.detail;
    return { kind: cause.kind, operation, status, code: safeCode(code) };
  }
  if (error instanceof SmokeFailure) return { kind: error.reason };
  return { kind: error instanceof RpcError ? error.code : "InternalError" };
}

/** Counts requests as they end. */
export class RequestCounts {
  readonly #counts = new Map<string, RequestCount>();

  add({ operation, failure }: Pick<CloudCallReport, "operation" | "failure">): void {
    const { sent, failed } = this.#counts.get(operation) ?? { sent: 0, failed: 0 };
    const count = { operation, sent: sent + 1, failed: failed + (failure === undefined ? 0 : 1) };
    this.#counts.set(operation, count);
  }

  get all(): readonly RequestCount[] {
    return [...this.#counts.values()].toSorted((one, other) => (one.operation < other.operation ? -1 : 1));
  }
}

export function smokeReport(
  report: Omit<SmokeReport, "format" | "contract" | "result">,
  isInterrupted: boolean,
): SmokeReport {
  const isPassed = report.parts.every(({ result, isRemoved }) => result !== "failed" && isRemoved !== false);
  const result = isInterrupted ? "interrupted" : isPassed ? "passed" : "failed";
  return { format: 1, contract: contractVersion, result, ...report };
}

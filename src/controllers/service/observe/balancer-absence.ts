// Decides when to request the next listing if the last listing lacks a load balancer, until its absence is certain. Pure.

import { type Milliseconds, seconds } from "../../../core/brand.ts";
import { awaited, type Evidence, isJustChanged, judge } from "../../kernel/proof.ts";

export interface Unproved {
  /** When to request the next listing (monotonic). */
  readonly checkAt: number;
  /** A listing that begins then and still lacks the load balancer proves its absence (monotonic). */
  readonly decidedAt: number;
  /**
   * The load balancer was created or changed so recently, or with so uncertain a result, that the cloud may only be late to
   * show it.
   */
  readonly isExpected: boolean;
}

export interface AbsenceInput {
  readonly known: Evidence;
  readonly confirmAfter: Milliseconds;
  /** When a hold that concerned the load balancer ended (monotonic). */
  readonly restartedAt?: number | undefined;
  /** When the last listing that lacks the load balancer was known (monotonic). */
  readonly listedAt: number;
}

/** A new load balancer is listed again after this time, then after twice this time, and so on. */
const firstCheck: Milliseconds = seconds(2);

/** Undefined if the load balancer is proved not to exist. */
export function unprovedAbsence({
  known,
  confirmAfter,
  restartedAt,
  listedAt,
}: AbsenceInput): Unproved | undefined {
  const next = awaited(judge(known, { confirmAfter, kinds: ["listing"], restartedAt }));
  if (next === undefined) return undefined;
  // Without an earlier answer about this load balancer, the last listing is the first answer.
  const decidedAt = next.at ?? listedAt + confirmAfter;
  const isExpected = known.certainty === "possible" || isJustChanged(known, confirmAfter, listedAt);
  // In whole seconds, so that Services with the same due time share a listing.
  const checkAt = isExpected ? Math.min(decidedAt, toSecond(nextCheck(known, listedAt))) : decidedAt;
  return { checkAt, decidedAt, isExpected };
}

function nextCheck({ proofs }: Evidence, listedAt: number): number {
  const [first = listedAt, last = first] = [proofs[0]?.beganAt, proofs.at(-1)?.beganAt];
  return first + Math.max(firstCheck, 2 * (last - first));
}

const toSecond = (time: number): number => Math.ceil(time / 1000) * 1000;

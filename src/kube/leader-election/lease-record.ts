// The specs that a leader election writes into its Lease, and how two records compare. Pure.

import type { Milliseconds } from "../../core/brand.ts";
import { type Lease, type LeaseSpec, toMicroTime } from "../objects.ts";

export const holderOf = (lease: Lease): string => lease.spec?.holderIdentity ?? "";

/** False if any client wrote the Lease in between. Times of different machines are never compared. */
export function isSameRecord(one: Lease, other: Lease): boolean {
  return (
    one.metadata.uid === other.metadata.uid &&
    JSON.stringify(one.spec ?? {}) === JSON.stringify(other.spec ?? {})
  );
}

/** The spec to take or renew the Lease. Unknown fields stay. */
export function heldSpec(
  previous: LeaseSpec | undefined,
  identity: string,
  duration: Milliseconds,
  now: number,
): LeaseSpec {
  const isRenewal = previous?.holderIdentity === identity;
  const time = toMicroTime(now);
  return {
    ...previous,
    holderIdentity: identity,
    leaseDurationSeconds: Math.max(1, Math.round(duration / 1000)),
    acquireTime: isRenewal ? (previous.acquireTime ?? time) : time,
    renewTime: time,
    leaseTransitions: (previous?.leaseTransitions ?? 0) + (isRenewal || previous === undefined ? 0 : 1),
  };
}

/** The spec to release the Lease, as client-go writes it. */
export function releasedSpec(previous: LeaseSpec | undefined, now: number): LeaseSpec {
  return {
    ...previous,
    holderIdentity: "",
    leaseDurationSeconds: 1,
    acquireTime: toMicroTime(now),
    renewTime: toMicroTime(now),
  };
}

// Checks the timing flags of leader election against each other. Pure.

import { type Milliseconds, seconds } from "../../core/brand.ts";
import type { Problem } from "../../core/problem.ts";
import { electionTimingProblem } from "../../kube/leader-election/leader-election.ts";
import type { Flags } from "./table.ts";

/** Writes stop this long before the Lease can expire, so that a write that was sent has arrived by then. */
export const writeMargin: Milliseconds = seconds(2);

export function electionProblems(flags: Flags): readonly Problem[] {
  if (!flags["leader-elect"]) return [];
  const duration = flags["leader-elect-lease-duration"];
  const tooShort = `The lease duration must be longer than ${writeMargin / 1000}s, because writes stop that long before the Lease expires.`;
  const text =
    electionTimingProblem(
      duration,
      flags["leader-elect-renew-deadline"],
      flags["leader-elect-retry-period"],
    ) ?? (duration <= writeMargin ? tooShort : undefined);
  const key = "--leader-elect-lease-duration";
  return text === undefined
    ? []
    : [{ severity: "error", reason: "InvalidFlag", key, text: `${key}: ${text}` }];
}

// Checks the timing flags of leader election against each other. Pure.

import { type Milliseconds, seconds } from "../../core/brand.ts";
import type { Problem } from "../../core/problem.ts";
import { attemptTimeout, electionTimingProblem } from "../../kube/leader-election/leader-election.ts";
import type { Flags } from "./flag-table.ts";

/** Writes stop this long before the Lease can expire, so that a write in flight arrives in time. */
export const writeMargin: Milliseconds = seconds(2);

const key = "--leader-elect-lease-duration";
const inSeconds = (time: number): string => `${Math.round(time / 100) / 10}s`;

export function electionProblems(flags: Flags): readonly Problem[] {
  if (!flags["leader-elect"]) return [];
  const duration = flags["leader-elect-lease-duration"];
  const renewDeadline = flags["leader-elect-renew-deadline"];
  const retryPeriod = flags["leader-elect-retry-period"];
  const error =
    electionTimingProblem(duration, renewDeadline, retryPeriod) ?? writeProblem(duration, retryPeriod);
  if (error !== undefined) {
    return [{ severity: "error", reason: "InvalidFlag", key, text: `${key}: ${error}` }];
  }
  return writeWarnings(duration, renewDeadline, retryPeriod).map((text) => ({
    severity: "warning",
    reason: "LittleTimeForWrites",
    key,
    text: `${key}: ${text}`,
  }));
}

/** Writes are allowed from a renewal until shortly before the Lease expires. */
function writeProblem(duration: Milliseconds, retryPeriod: Milliseconds): string | undefined {
  if (duration <= writeMargin) {
    return `The lease duration must be longer than ${inSeconds(writeMargin)}, because writes stop that long before the Lease expires.`;
  }
  const writable = duration - writeMargin;
  if (writable > retryPeriod) return undefined;
  return `The lease duration (${inSeconds(duration)}) must be longer than the retry period (${inSeconds(retryPeriod)}) and ${inSeconds(writeMargin)}, because writes stop ${inSeconds(writeMargin)} before the Lease can expire. With these values they would stop ${inSeconds(writable)} after each renewal, before the next one begins.`;
}

function writeWarnings(
  duration: Milliseconds,
  renewDeadline: Milliseconds,
  retryPeriod: Milliseconds,
): readonly string[] {
  const writable = duration - writeMargin;
  const slowest = retryPeriod + attemptTimeout(renewDeadline);
  const warnings: string[] = [];
  if (slowest > writable) {
    warnings.push(
      `A renewal may take ${inSeconds(attemptTimeout(renewDeadline))} and begins ${inSeconds(retryPeriod)} after the last one, but writes stop ${inSeconds(writable)} after the last one. A slow API server therefore pauses all writes. A lease duration of at least ${inSeconds(slowest + writeMargin)} avoids that.`,
    );
  }
  if (renewDeadline > writable) {
    warnings.push(
      `The leader keeps the Lease for up to ${inSeconds(renewDeadline)} without a renewal, but stops writing after ${inSeconds(writable)}. A renew deadline of at most ${inSeconds(writable)} lets another replica lead sooner.`,
    );
  }
  return warnings;
}

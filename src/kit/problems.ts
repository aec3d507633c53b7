// Problems that plans return, in one line each. Pure.

import type { Problem } from "../provider/reasons.ts";

/** What it affects stays unchanged until it is fixed. */
export function errorProblem(reason: Problem["reason"], text: string): Problem {
  return { severity: "error", reason, text };
}

/** It is reported, and the reconcile continues. */
export function warningProblem(reason: Problem["reason"], text: string): Problem {
  return { severity: "warning", reason, text };
}

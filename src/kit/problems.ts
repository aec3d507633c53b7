// Problems that plans return, in one line each. Pure.

import { defined } from "../core/defined.ts";
import type { Problem } from "../provider/reasons.ts";

/** What it affects stays unchanged until it is fixed. `key`: the annotation or setting that it is about. */
export function errorProblem(reason: Problem["reason"], text: string, key?: string): Problem {
  return defined({ severity: "error" as const, reason, text, key });
}

/** It is reported, and the reconcile continues. */
export function warningProblem(reason: Problem["reason"], text: string, key?: string): Problem {
  return defined({ severity: "warning" as const, reason, text, key });
}

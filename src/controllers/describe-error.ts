// An error as a problem of the object it was met with, in a reason from the one list and in its own words. Pure.

import { dispositions } from "../cloud/disposition.ts";
import { messageOf } from "../core/message-of.ts";
import type { Problem } from "../core/problem.ts";
import { isKubeError } from "../kube/errors/kube-error.ts";
import { CloudError } from "../provider/errors.ts";
import { isLostRace } from "./lost-race.ts";

/** Undefined for what passes by itself and is nobody's business, such as a lost race. */
export function describeError(error: unknown): Problem | undefined {
  if (CloudError.is(error)) {
    return { severity: "error", reason: dispositions[error.kind].reason, text: error.message };
  }
  if (isKubeError(error)) {
    if (isLostRace(error) || error.kind === "fenced") return undefined;
    return { severity: "error", reason: "KubernetesRefused", text: error.message };
  }
  return {
    severity: "error",
    reason: "InternalError",
    text: messageOf(error),
  };
}

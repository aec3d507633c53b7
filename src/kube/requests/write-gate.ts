// Refuses writes to the API server while this process must not write, such as after the Lease was lost.

import type { WriteGate } from "../../runtime/write-gate.ts";
import { KubeError, type KubeErrorFacts } from "../errors/kube-error.ts";

/** Throws a KubeError of kind "fenced" if the write is refused. */
export function checkWriteGate(mayWrite: WriteGate, facts: KubeErrorFacts): void {
  const allowed = mayWrite();
  if (allowed === true) return;
  const target = facts.object === undefined ? facts.operation : `${facts.operation} ${facts.object}`;
  throw new KubeError("fenced", `Did not ${target}: ${allowed.reason}`, facts);
}

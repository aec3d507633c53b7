// Refuses writes to the API server while this process must not write, such as after the Lease was lost. `MutationGate` in
// `src/cloud/governed-transport.ts` does the same for the cloud.

import { KubeError, type KubeErrorFacts } from "../errors/kube-error.ts";

/** Called immediately before a write is sent. Returns the reason if the write is refused. */
export type WriteGate = () => true | { readonly reason: string };

/** Throws a KubeError of kind "fenced" if the write is refused. */
export function checkWriteGate(mayWrite: WriteGate, facts: KubeErrorFacts): void {
  const allowed = mayWrite();
  if (allowed === true) return;
  const target = facts.object === undefined ? facts.operation : `${facts.operation} ${facts.object}`;
  throw new KubeError("fenced", `Did not ${target}: ${allowed.reason}`, facts);
}

// What a change to a balancer is called: upstream knows three kinds, and giving back is ours. Events, and what is measured,
// follow from it.

import type { Fingerprint } from "./fingerprint.ts";

export type Change = "ensure" | "update" | "delete" | "release";

/** Only other targets than before is an update in upstream's words; anything else makes it anew or as it should be. */
export function changeOf(
  before: Fingerprint | undefined,
  now: Fingerprint,
  ending: "delete" | "release" | undefined,
): Change {
  if (ending !== undefined) return ending;
  return before !== undefined && before.rest === now.rest && before.targets !== now.targets
    ? "update"
    : "ensure";
}

// The last writes about one object, from the journal. Pure.

import { defined } from "../../core/defined.ts";
import type { JournalEntry } from "../../runtime/journal.ts";
import type { Decision } from "./description.ts";

/** More would hide the newest ones. */
const maxDecisions = 8;

/** `objects` are the journal's names of the object and of what belongs to it, such as `balancer/…`. The newest first. */
export function decisionsAbout(
  entries: readonly JournalEntry[],
  objects: readonly string[],
  /** Reasons about the object begin with this. */
  subject?: string,
): readonly Decision[] {
  const isAbout = ({ object, why }: JournalEntry): boolean =>
    objects.includes(object) || (subject !== undefined && why.startsWith(`${subject}: `));
  return entries
    .filter(isAbout)
    .slice(-maxDecisions)
    .toReversed()
    .map(({ at, action, object, why, outcome, detail }) =>
      defined({ at: new Date(at).toISOString(), action, object, why, outcome, detail }),
    );
}

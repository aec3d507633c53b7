// The last writes about one object, from the journal. Pure.

import { defined } from "../../core/defined.ts";
import type { JournalEntry } from "../../runtime/journal.ts";
import type { Decision } from "./description.ts";

/** More would hide the newest ones. */
const maxDecisions = 8;

/** What would be done is planned again at each evaluation; the newest one counts. */
function isNewOutcome(): (entry: JournalEntry) => boolean {
  const seen = new Set<string>();
  return ({ object, action, why, outcome }) => {
    if (outcome !== "observed") return true;
    const plan = `${object} ${action} ${why}`;
    return !seen.has(plan) && seen.add(plan) !== undefined;
  };
}

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
    .toReversed()
    .filter(isNewOutcome())
    .slice(0, maxDecisions)
    .map(({ at, action, object, why, outcome, detail }) =>
      defined({ at: new Date(at).toISOString(), action, object, why, outcome, detail }),
    );
}

// Decides which changes of a document are sent together: all new ones in one group, those that failed before in another one.
// After a refusal, a group is split into halves. A group is identified by its destinations. Pure.

import type { Cidr } from "../../../core/brand.ts";
import type { ChangeResult, RouteChange } from "../plan/changes.ts";
import type { RouteBackoffs } from "./backoffs.ts";
import { heldBack } from "./send-changes.ts";

export type Group = ReadonlySet<Cidr>;

export interface Grouped {
  /** Not sent now. A delayed change also delays the other changes of its destination. */
  readonly held: readonly ChangeResult[];
  /** Sent one after another. */
  readonly groups: readonly Group[];
}

export function groupsOf(
  changes: readonly RouteChange[],
  backoffs: Pick<RouteBackoffs, "of" | "failuresOf">,
): Grouped {
  const held: ChangeResult[] = [];
  const fresh = new Set<Cidr>();
  const failedBefore = new Set<Cidr>();
  for (const [destination, changesThere] of Map.groupBy(changes, ({ route }) => route.destination)) {
    const outcome = changesThere.flatMap((change) => heldBack(backoffs, change) ?? [])[0];
    const hasFailed = changesThere.some((change) => backoffs.failuresOf(change) > 0);
    if (outcome !== undefined) held.push(...changesThere.map((change) => ({ change, outcome })));
    // In its own group, so that it does not make the others fail again.
    else if (hasFailed) failedBefore.add(destination);
    else fresh.add(destination);
  }
  return { held, groups: [fresh, failedBefore].filter(({ size }) => size > 0) };
}

/** Empty for a group of one destination. */
export function halvesOf(group: Group): readonly Group[] {
  if (group.size < 2) return [];
  const destinations = [...group];
  const middle = Math.ceil(destinations.length / 2);
  return [new Set(destinations.slice(0, middle)), new Set(destinations.slice(middle))];
}

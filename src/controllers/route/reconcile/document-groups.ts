// Which changes of a document are sent together: all that are new in one, what was refused before by itself, and after a
// refusal halves, until what is wrong stands alone. Pure; a group is named by its destinations.

import type { Cidr } from "../../../core/brand.ts";
import type { RouteBackoffs } from "./backoffs.ts";
import { aboutOf, type ChangeResult, heldBack, keyOf, type RouteChange } from "./route-change.ts";

export type Group = ReadonlySet<Cidr>;

export interface Grouped {
  /** Not tried now: what rests holds back the other changes of its destination too. */
  readonly held: readonly ChangeResult[];
  /** Sent one after the other. */
  readonly groups: readonly Group[];
}

export function groupsOf(
  changes: readonly RouteChange[],
  backoffs: Pick<RouteBackoffs, "of" | "failuresOf">,
): Grouped {
  const held: ChangeResult[] = [];
  const fresh = new Set<Cidr>();
  const failedBefore = new Set<Cidr>();
  for (const [destination, same] of Map.groupBy(changes, ({ route }) => route.destination)) {
    const outcome = same.flatMap((change) => heldBack(backoffs, change) ?? [])[0];
    const hasFailed = same.some((change) => backoffs.failuresOf(keyOf(change), aboutOf(change)) > 0);
    if (outcome !== undefined) held.push(...same.map((change) => ({ change, outcome })));
    // It must not take the others down with it again.
    else if (hasFailed) failedBefore.add(destination);
    else fresh.add(destination);
  }
  return { held, groups: [fresh, failedBefore].filter(({ size }) => size > 0) };
}

/** None where there is nothing to halve. */
export function halvesOf(group: Group): readonly Group[] {
  if (group.size < 2) return [];
  const destinations = [...group];
  const middle = Math.ceil(destinations.length / 2);
  return [new Set(destinations.slice(0, middle)), new Set(destinations.slice(middle))];
}

// Handles several load balancers with the mark of one group, as a lost answer leaves them in clouds where names are not unique.
// Pure.

import type { Problem } from "../../../core/problem.ts";
import { shortList } from "../../../core/text.ts";
import type { ObservedLoadBalancer } from "../../../provider/load-balancers.ts";
import type { OnDelete } from "../desired/on-delete.ts";

/** The one that is managed: its address is in use, or it is the first that is ready. */
export function primaryOf(
  candidates: readonly ObservedLoadBalancer[],
  isInUse: (balancer: ObservedLoadBalancer) => boolean,
): ObservedLoadBalancer | undefined {
  return candidates.find(isInUse) ?? candidates.find(({ state }) => state === "ready") ?? candidates[0];
}

/** The name in the cloud, if the provider reports it. */
export function nameOf({ name, group }: Pick<ObservedLoadBalancer, "name" | "group">): string {
  return name ?? group;
}

/** What the deletion of the Service does. */
const outcomes = {
  delete: ", or delete the Service, which deletes all of them",
  release: ": deleting the Service releases all of them, as on-delete requires, and they stay in the cloud",
  "on hold": ": the Service cannot be deleted until on-delete is corrected",
} as const;

export function duplicatesFound(
  primary: string,
  duplicates: readonly string[],
  onDelete: OnDelete["kind"],
): Problem {
  return {
    severity: "warning",
    reason: "DuplicateLoadBalancer",
    text: `The cloud has ${duplicates.length + 1} load balancers with the mark of this Service. Fairlead manages ${primary} and does not change the others (${shortList(duplicates)}). Delete those in the cloud${outcomes[onDelete]}.`,
  };
}

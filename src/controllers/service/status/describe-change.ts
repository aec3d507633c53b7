// Describes for the journal the desired load balancer of a group and why it is changed. Contains only names, ports and counts,
// because settings may contain secrets. Pure.

import { shortList } from "../../../core/text.ts";
import type { ObservedLoadBalancer } from "../../../provider/load-balancers.ts";
import type { Difference } from "../desired/difference.ts";
import type { Member } from "../desired/member.ts";
import type { Change, Fingerprint, GroupState } from "../state/group-record.ts";
import { describeTargetChanges } from "./describe-targets.ts";

const maxPorts = 8;

export function describeDesired(members: readonly Pick<Member, "desired">[]): string {
  if (members.length === 0) return "no Service needs it";
  return shortList(
    members.map(({ desired: { owner, ports, targets, ending } }) => {
      const name = `${owner.namespace}/${owner.name}`;
      if (ending !== undefined) return `${name} no longer needs it`;
      const list = ports.map(({ port, protocol }) => `${port}/${protocol}`);
      const shown = list.slice(0, maxPorts).join(" ");
      const more = list.length > maxPorts ? ` … and ${list.length - maxPorts} more` : "";
      return `for ${name}: ports ${shown}${more} to ${targets.length} targets`;
    }),
  );
}

interface ReasonInput {
  readonly difference: Difference;
  readonly change: Change;
  readonly observed: ObservedLoadBalancer | undefined;
  /** The desired state now. */
  readonly fingerprint: Fingerprint;
  /** The state before the change. */
  readonly state: Pick<GroupState, "change" | "lastCompleted" | "knownSpec" | "inputs">;
}

/** Why the load balancer is changed, naming the Services. */
export function describeReason(
  members: readonly Pick<Member, "desired">[],
  { difference, change, observed, fingerprint, state }: ReasonInput,
): string {
  const leaving = members.filter(({ desired }) => desired.ending !== undefined);
  if (members.length === 0) return "its Services no longer exist";
  if (leaving.length > 0) return `${namesOf(leaving)}: load balancer no longer needed`;
  const names = namesOf(members);
  if (difference === "drift") return `${names}: load balancer changed outside Fairlead`;
  if (observed === undefined) return `${names}: load balancer needed`;
  if (observed.ownership === "unmarked")
    return `${names}: adopts load balancer ${observed.name ?? observed.group}`;
  if (change === "update" && state.lastCompleted !== undefined) {
    const changes = describeTargetChanges(state.lastCompleted.lists, fingerprint.lists);
    return `${names}: ${changes === "" ? "targets changed" : changes}`;
  }
  const hasChanged =
    state.change !== undefined || (state.knownSpec !== undefined && state.knownSpec !== fingerprint.spec);
  if (!hasChanged) return `${names}: load balancer differs from the Service`;
  return `${names}: ${state.inputs.size > 0 ? "the Service or one of its inputs changed" : "the Service changed"}`;
}

function namesOf(members: readonly Pick<Member, "desired">[]): string {
  return shortList(members.map(({ desired: { owner } }) => `${owner.namespace}/${owner.name}`));
}

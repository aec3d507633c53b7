// Describes for the journal the desired load balancer of a group and why it is changed. Contains only names, ports and counts,
// because settings may contain secrets. Pure.

import { shortList } from "../../../core/text.ts";
import type { Member } from "../desired/member.ts";
import type { Change, Fingerprint } from "../state/group-states.ts";
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
  readonly isDrift: boolean;
  readonly isNew: boolean;
  /** What the load balancer was last brought in line with. */
  readonly before: Fingerprint | undefined;
  readonly now: Fingerprint;
}

/** Why the load balancer is changed, naming the Services. */
export function describeReason(
  members: readonly Pick<Member, "desired">[],
  change: Change,
  { isDrift, isNew, before, now }: ReasonInput,
): string {
  const leaving = members.filter(({ desired }) => desired.ending !== undefined);
  if (members.length === 0) return "its Services no longer exist";
  if (leaving.length > 0) return `${namesOf(leaving)}: load balancer no longer needed`;
  if (isDrift) return `${namesOf(members)}: load balancer changed outside Fairlead`;
  if (isNew) return `${namesOf(members)}: load balancer needed`;
  if (change !== "update") return `${namesOf(members)}: desired state changed`;
  const changes = describeTargetChanges(before?.lists ?? [], now.lists);
  return `${namesOf(members)}: ${changes === "" ? "targets changed" : changes}`;
}

function namesOf(members: readonly Pick<Member, "desired">[]): string {
  return shortList(members.map(({ desired: { owner } }) => `${owner.namespace}/${owner.name}`));
}

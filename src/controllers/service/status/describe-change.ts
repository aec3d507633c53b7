// Describes for the journal the desired load balancer of a group and why it is changed. Contains only names, ports and counts,
// because settings may contain secrets. Pure.

import { shortList } from "../../../core/text.ts";
import type { BalancerTarget, ObservedLoadBalancer } from "../../../provider/load-balancers.ts";
import type { Difference } from "../desired/difference.ts";
import type { Member } from "../desired/members.ts";
import type { Change, Fingerprint, GroupState } from "../state/group-record.ts";

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

type Targets = readonly BalancerTarget[];

const maxNames = 80;
const described = new WeakMap<Targets, WeakMap<Targets, readonly string[]>>();

/** The changes from one list per Service to another: "node-3 is no longer a target". Empty if they cannot be compared. */
export function describeTargetChanges(before: readonly Targets[], now: readonly Targets[]): string {
  if (before.length !== now.length) return "";
  const changes = now.flatMap((list, index) => changesBetween(before[index] ?? [], list));
  return [...new Set(changes)].join("; ");
}

function changesBetween(before: Targets, now: Targets): readonly string[] {
  if (before === now) return [];
  const known = described.get(now)?.get(before);
  if (known !== undefined) return known;
  const changes = compare(before, now);
  const byBefore = described.get(now) ?? new WeakMap<Targets, readonly string[]>();
  described.set(now, byBefore.set(before, changes));
  return changes;
}

function compare(before: Targets, now: Targets): readonly string[] {
  const old = new Map(before.map((target) => [target.node as string, target]));
  const current = new Set<string>(now.map(({ node }) => node));
  const both = now.filter(({ node }) => old.has(node));
  const drains = both.filter((target) => target.draining && old.get(target.node)?.draining === false);
  const others = both.filter((target) => {
    const last = old.get(target.node);
    return last !== target && !drains.includes(target) && !Bun.deepEquals(last, target);
  });
  const names = (targets: Targets): readonly string[] => targets.map(({ node }) => node);
  return [
    ...sentence(
      [...old.keys()].filter((node) => !current.has(node)),
      "is no longer a target",
      "are no longer targets",
    ),
    ...sentence(
      [...current].filter((node) => !old.has(node)),
      "is a new target",
      "are new targets",
    ),
    ...sentence(names(drains), "gets no new connections", "get no new connections"),
    ...sentence(
      names(others),
      "has another machine, address or label",
      "have other machines, addresses or labels",
    ),
  ];
}

function sentence(names: readonly string[], one: string, many: string): readonly string[] {
  const [first, second] = names;
  if (first === undefined) return [];
  if (second === undefined) return [`${first} ${one}`];
  return [`${names.length} Nodes ${many} (${shortList(names, maxNames)})`];
}

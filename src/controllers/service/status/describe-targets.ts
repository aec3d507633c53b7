// Describes for the journal how the targets of a load balancer changed. Many load balancers share two lists, so each pair is
// compared once. Pure.

import { shortList } from "../../../core/text.ts";
import type { BalancerTarget } from "../../../provider/load-balancers.ts";

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

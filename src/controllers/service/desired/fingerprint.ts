// Reduces the desired state of a group to a short text that changes exactly when a plan could change. There are many targets,
// and all Services share them, so each is hashed once. Pure.

import { hash } from "../../../core/hash.ts";
import type { BalancerTarget } from "../../../provider/load-balancers.ts";
import type { Step } from "../../../provider/plan.ts";
import type { Desired } from "../deps.ts";
import type { Change, Fingerprint } from "../state/group-record.ts";

const targetHashes = new WeakMap<BalancerTarget, string>();
const listHashes = new WeakMap<readonly BalancerTarget[], string>();

function textOf(value: unknown): string {
  return JSON.stringify(value, (_, one: unknown) => {
    if (typeof one === "bigint") return String(one);
    return one instanceof Map || one instanceof Set
      ? [...one].map((entry) => JSON.stringify(entry)).toSorted()
      : one;
  });
}

function hashTarget(target: BalancerTarget): string {
  const known = targetHashes.get(target);
  if (known !== undefined) return known;
  const made = shortHash(textOf(target));
  targetHashes.set(target, made);
  return made;
}

function hashTargets(targets: readonly BalancerTarget[]): string {
  const known = listHashes.get(targets);
  if (known !== undefined) return known;
  const made = shortHash(targets.map(hashTarget).join());
  listHashes.set(targets, made);
  return made;
}

/** Two independent hashes of 32 bits. */
const shortHash = (text: string): string => `${hash(text).toString(36)}-${hash(`~${text}`).toString(36)}`;

/** The desired state in a form that can be stored for every step. */
export const textOfDesired = ({ targets, spec }: Fingerprint): string => shortHash(`${spec} ${targets}`);

/** Recognizes a step that is applied again. */
export const hashStep = (step: Step): string => shortHash(textOf(step));

/** Excludes facts, because Fairlead writes them. */
export function fingerprintOf(desired: readonly Desired[], inputs = ""): Fingerprint {
  return {
    targets: desired.map(({ targets }) => hashTargets(targets)).join("|"),
    spec: textOf(desired.map(({ facts: _, targets: __, ...spec }) => spec)) + inputs,
    lists: desired.map(({ targets }) => targets),
  };
}

export function isSameDesired(a: Fingerprint | undefined, b: Fingerprint): boolean {
  return a !== undefined && a.targets === b.targets && a.spec === b.spec;
}

/** As in upstream: if only the targets differ, it is an update; any other change ensures the load balancer. */
export function changeOf(
  before: Fingerprint | undefined,
  now: Fingerprint,
  ending: "delete" | "release" | undefined,
): Change {
  if (ending !== undefined) return ending;
  return before !== undefined && before.spec === now.spec && before.targets !== now.targets
    ? "update"
    : "ensure";
}

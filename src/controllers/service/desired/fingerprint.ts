// What is wished, short enough to be kept for every group: equal exactly when nothing was changed that a plan looks at.
// Targets are many and shared by all wishes, so each is read once.

import type { BalancerTarget } from "../../../provider/load-balancers.ts";
import { hash } from "../targets/rendezvous.ts";
import type { Desired } from "./member.ts";

export interface Fingerprint {
  readonly targets: string;
  readonly rest: string;
}

const known = new WeakMap<BalancerTarget, string>();
const knownLists = new WeakMap<readonly BalancerTarget[], string>();

function textOf(value: unknown): string {
  return JSON.stringify(value, (_, one: unknown) =>
    one instanceof Map || one instanceof Set
      ? [...one].map((entry) => JSON.stringify(entry)).toSorted()
      : one,
  );
}

function ofTarget(target: BalancerTarget): string {
  const before = known.get(target);
  if (before !== undefined) return before;
  const made = short(textOf(target));
  known.set(target, made);
  return made;
}

function ofList(targets: readonly BalancerTarget[]): string {
  const before = knownLists.get(targets);
  if (before !== undefined) return before;
  const made = short(targets.map(ofTarget).join());
  knownLists.set(targets, made);
  return made;
}

/** Two hashes of 32 bits, told apart from the first character on. */
const short = (text: string): string => `${hash(text).toString(36)}-${hash(`~${text}`).toString(36)}`;

/** Facts are our own doing and not counted. */
export function fingerprintOf(desiredServices: readonly Desired[], inputs = ""): Fingerprint {
  return {
    targets: desiredServices.map(({ targets }) => ofList(targets)).join("|"),
    rest: textOf(desiredServices.map(({ facts: _, targets: __, ...desired }) => desired)) + inputs,
  };
}

export function isSameDesired(a: Fingerprint | undefined, b: Fingerprint): boolean {
  return a !== undefined && a.targets === b.targets && a.rest === b.rest;
}

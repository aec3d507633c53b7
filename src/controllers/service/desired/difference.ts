// Reduces the desired state of a group to a short text that changes exactly when a plan could change, and decides with it why the
// cloud differs: a Service, its targets, or the load balancer was changed. With --load-balancer-drift=report, only a change of a
// Service applies everything, and a change of Nodes applies targets. Pure.

import { hash } from "../../../core/hash.ts";
import type { BalancerTarget, ObservedLoadBalancer } from "../../../provider/load-balancers.ts";
import type { Step } from "../../../provider/plan.ts";
import { cloudCondition } from "../../well-known.ts";
import type { Desired } from "../deps.ts";
import type { ServiceSettings } from "../settings.ts";
import type { Change, Fingerprint, GroupState } from "../state/group-record.ts";
import type { Member } from "./members.ts";

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

/**
 * - `desired`: a Service or one of its inputs has changed, or its load balancer is not complete yet
 * - `targets`: at most the targets have changed since the last completion
 * - `drift`: nothing has changed, so the load balancer was changed outside Fairlead
 * - `unknown`: the Service was complete before this process first read it
 */
export type Difference = "desired" | "targets" | "drift" | "unknown";

export interface DifferenceInput {
  readonly state: Pick<GroupState, "change" | "lastCompleted" | "knownSpec">;
  readonly members: readonly Member[];
  readonly observed: ObservedLoadBalancer | undefined;
  /** Whether owners that are gone must be removed. */
  readonly hasGone: boolean;
  readonly fingerprint: Fingerprint;
  /** A Service of the group changed while this replica did not lead. */
  readonly hasStandbyChange: boolean;
}

export function differenceOf(input: DifferenceInput): Difference {
  const { state, members, observed, hasGone, fingerprint, hasStandbyChange } = input;
  const { change, lastCompleted, knownSpec } = state;
  if (members.length === 0) return "desired";
  const isLargerChange = change !== undefined && change !== "update";
  const isLeaving = hasGone || members.some(({ desired }) => desired.ending !== undefined);
  const isAdoption = observed?.ownership === "unmarked";
  if (isLargerChange || isLeaving || isAdoption || hasStandbyChange) return "desired";
  if (change === undefined && isSameDesired(lastCompleted, fingerprint)) return "drift";
  const spec = lastCompleted?.spec ?? knownSpec;
  if (spec !== undefined) return spec === fingerprint.spec ? "targets" : "desired";
  return members.every(isComplete) ? "unknown" : "desired";
}

/** Its status shows that a load balancer was created and that no change has failed. */
function isComplete({ service: { status } }: Member): boolean {
  const hasProblem = (status.conditions ?? []).some(({ type }) => type === cloudCondition);
  return !hasProblem && (status.loadBalancer?.ingress ?? []).length > 0;
}

export interface AllowedSteps {
  readonly steps: readonly Step[];
  /** Steps that are not applied, or only in part. */
  readonly withheld: readonly Step[];
}

export function allowedSteps(
  steps: readonly Step[],
  difference: Difference,
  drift: ServiceSettings["drift"],
  /** The part of a step that changes only targets. Undefined: the provider does not say. */
  targetsOnly: ((step: Step) => Step | undefined) | undefined,
): AllowedSteps {
  if (drift === "repair" || difference === "desired") return { steps, withheld: [] };
  if (difference === "drift" || targetsOnly === undefined) return { steps: [], withheld: steps };
  const parts = steps.map((step) => ({ step, part: targetsOnly(step) }));
  return {
    steps: parts.flatMap(({ part }) => part ?? []),
    withheld: parts.flatMap(({ step, part }) => (JSON.stringify(part) === JSON.stringify(step) ? [] : step)),
  };
}

// Decides why the cloud differs from the desired state of a group, and which steps may therefore be applied. With
// --load-balancer-drift=report, only a change of a Service applies everything; a change of Nodes applies targets. Pure.

import type { ObservedLoadBalancer } from "../../../provider/load-balancers.ts";
import type { Step } from "../../../provider/plan.ts";
import { cloudCondition } from "../../well-known.ts";
import type { ServiceSettings } from "../settings.ts";
import type { Fingerprint, GroupState } from "../state/group-record.ts";
import { isSameDesired } from "./fingerprint.ts";
import type { Member } from "./member.ts";

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

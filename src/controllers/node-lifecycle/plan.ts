// Decides what to do about a NotReady Node from what is known about its instance: nothing, the shutdown taint, the
// out-of-service taint, another query, or the deletion. Pure.

import { type Milliseconds, milliseconds } from "../../core/brand.ts";
import { defined } from "../../core/defined.ts";
import type { Problem } from "../../core/problem.ts";
import type { Node } from "../../kube/objects.ts";
import { isEarly, type Verdict } from "../kernel/doubt.ts";
import { awaited, judge, type NextProof, type ProofKind } from "../kernel/proof.ts";
import {
  hasTaint,
  isBeingDeleted,
  isLeaving,
  isReady,
  isUninitialized,
  nodeDeletionOf,
  outOfServiceOf,
  providerIDOf,
  taintsOf,
} from "../node-facts.ts";
import { isPaused } from "../pause.ts";
import { shutdownTaint } from "../well-known.ts";
import { isRecent, type NodeEvidence } from "./observe.ts";
import { type OutOfServiceInput, planOutOfService } from "./plan-out-of-service.ts";
import { deletionForbidden, deletionObserved, deletionUnproved, massDeletionHeld } from "./texts.ts";

export type LifecycleDecision =
  | { readonly kind: "ignore" }
  | { readonly kind: "taint"; readonly shutdown: boolean }
  /** The out-of-service taint. `why`: the cloud's answer about the machine, or that the Node is Ready. */
  | { readonly kind: "out-of-service"; readonly isSet: boolean; readonly why: string }
  /** Nothing to do now; check again later. */
  | { readonly kind: "recheck" }
  | { readonly kind: "query"; readonly after: Milliseconds; readonly method?: ProofKind }
  /** The instance is gone, but the Node must not be deleted now. */
  | { readonly kind: "hold"; readonly problem: Problem }
  | { readonly kind: "delete"; readonly isAnnounced: boolean };

export interface LifecyclePlanInput extends OutOfServiceInput {
  readonly doubt: () => Verdict;
  /** True if the instance's state was looked up, and the next check is scheduled. Listings without states then change nothing. */
  readonly isChecked?: boolean;
  /** True if observe mode reported the shutdown taint, which it never sets. */
  readonly isTaintObserved?: boolean | undefined;
}

export function planLifecycle(input: LifecyclePlanInput): LifecycleDecision {
  const { node, answer, evidence, proofKinds } = input;
  if (isPaused(node) || isBeingDeleted(node) || answer.kind === "foreign") return { kind: "ignore" };
  const isTainted = hasTaint(node, shutdownTaint, "NoSchedule");
  const isOutOfService = outOfServiceOf(node) === "Fairlead's";
  if (isReady(node)) {
    if (isOutOfService) return { kind: "out-of-service", isSet: false, why: "the Node is Ready" };
    return isTainted ? { kind: "taint", shutdown: false } : { kind: "ignore" };
  }
  switch (answer.kind) {
    case "exists": {
      if (answer.asOf < evidence.seenSince) return { kind: "query", after: milliseconds(0) };
      const { state } = answer.instance;
      if (state === undefined) {
        // The listing contains no state. A lookup may return it; until then nothing is decided.
        const isReported =
          answer.proof === "lookup" || !proofKinds.includes("lookup") || input.isChecked === true;
        return isReported ? { kind: "recheck" } : { kind: "query", after: milliseconds(0), method: "lookup" };
      }
      // Workloads on a suspended machine may resume and write to its volumes.
      if (isOutOfService && (state === "running" || state === "suspended"))
        return { kind: "out-of-service", isSet: false, why: `the machine is ${state}` };
      if (state === "stopped" || state === "suspended") {
        const isObserved = input.isTaintObserved === true && input.settings.outOfService !== "off";
        if (!isObserved && !hasExactShutdownTaint(node)) return { kind: "taint", shutdown: true };
        return (state === "stopped" ? outOfService(input) : undefined) ?? { kind: "recheck" };
      }
      // While the instance is terminating, the Node keeps the taint, because the instance will not run again.
      const isRemovable = state === "running" && input.settings.removeShutdownTaint === "when-running";
      return isTainted && isRemovable ? { kind: "taint", shutdown: false } : { kind: "recheck" };
    }
    case "unconfirmed":
    case "ambiguous":
      return answer.asOf < evidence.seenSince
        ? { kind: "query", after: milliseconds(0) }
        : { kind: "recheck" };
    case "unknown":
      return { kind: "query", after: milliseconds(0) };
    case "gone":
      return planDeletion(input);
  }
}

/** The taint as upstream writes it, without a value. A value from another program is removed. */
function hasExactShutdownTaint(node: Node): boolean {
  const taint = taintsOf(node).find(({ key, effect }) => key === shutdownTaint && effect === "NoSchedule");
  return taint !== undefined && (taint.value ?? "") === "";
}

/** The taint as a decision; undefined if the taint needs no change. */
function outOfService(input: LifecyclePlanInput): LifecycleDecision | undefined {
  const plan = planOutOfService(input);
  if (plan === undefined || plan.kind === "hold") return plan;
  if (plan.kind === "prove") return queryFor(plan.next, input.now);
  const why = `the machine is ${input.answer.kind === "gone" ? "gone" : "stopped"}`;
  return { kind: "out-of-service", isSet: true, why };
}

const free: Verdict = { held: undefined, restartedAt: undefined };

function planDeletion(input: LifecyclePlanInput): LifecycleDecision {
  const { node, answer, evidence, proofKinds, doubt, isReleased, settings, now } = input;
  if (settings.deletion === "off") return outOfService(input) ?? { kind: "recheck" };
  // A Node that is kept although its machine is proved to be gone.
  const kept = (hold: LifecycleDecision): LifecycleDecision => {
    const decision = outOfService(input);
    return decision === undefined || decision.kind === "hold" ? hold : decision;
  };
  const undescribed = answer.kind === "gone" ? answer.undescribed : undefined;
  if (undescribed !== undefined)
    return { kind: "hold", problem: deletionUnproved(undescribed, isConfirmed(node)) };
  // The kubelet may have set the provider id long before the cloud shows the instance.
  const mayBeTooNew = providerIDOf(node) === undefined || isUninitialized(node);
  // The Node is at least this old. The creation time is meaningless if the wall clock of this process is wrong.
  const beyondMinAge = now - evidence.firstSeen - settings.minAge;
  if (mayBeTooNew && beyondMinAge < 0) return { kind: "query", after: milliseconds(-beyondMinAge) };
  const missing = (restartedAt?: number): NextProof | undefined => {
    const { confirmAfter } = settings;
    return awaited(judge(evidence, { confirmAfter, kinds: proofKinds, restartedAt }));
  };
  const next = missing();
  // An operator sees the limit at the first answer, not after all proofs. Announced Nodes do not count but are held too: while
  // the cloud seems wrong about many Nodes, no answer about any Node is trusted.
  const isLimited = !isReleased && !isConfirmed(node) && !isDeletionForbidden(node);
  const { held, restartedAt } = isLimited && evidence.proofs.length > 0 ? doubt() : free;
  const problem = held && !isEarly(held, next === undefined) ? massDeletionHeld(held) : undefined;
  if (problem !== undefined) return { kind: "hold", problem };
  if (next !== undefined) return queryFor(next, now);
  // A proof from a time when the instance may not have been visible yet does not count.
  const newest = Math.max(...evidence.proofs.map(({ beganAt }) => beganAt));
  if (mayBeTooNew && newest < now - beyondMinAge) return { kind: "query", after: milliseconds(0) };
  if (isDeletionForbidden(node)) return kept({ kind: "hold", problem: deletionForbidden(node) });
  const isAnnounced = isReleased || isAnnouncedAsLeaving(node, evidence);
  const restarted = missing(restartedAt);
  if (restarted !== undefined) return queryFor(restarted, now);
  if (settings.deletion === "observe") return kept({ kind: "hold", problem: deletionObserved() });
  if (!isRecent(evidence, now)) return { kind: "query", after: milliseconds(0) };
  return { kind: "delete", isAnnounced };
}

function queryFor({ at, kind }: NextProof, now: number): LifecycleDecision {
  return { kind: "query", after: milliseconds(Math.max(0, (at ?? now) - now)), ...defined({ method: kind }) };
}

/** Whether the annotation prevents the deletion; such a Node does not count as a candidate. Unknown values mean "never". */
export function isDeletionForbidden(node: Node): boolean {
  return nodeDeletionOf(node).value === "never";
}

export const isConfirmed = (node: Node): boolean => nodeDeletionOf(node).value === "confirmed";

/** Announced or confirmed deletions do not count towards the mass limit. */
export function isAnnouncedAsLeaving(node: Node, evidence: NodeEvidence): boolean {
  return isLeaving(node) || evidence.wasTerminating || isConfirmed(node);
}

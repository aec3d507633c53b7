// What to do about a Node, given whether its machine exists: nothing, a taint, another question, or its deletion. Pure.

import type { Answer } from "../../cloud/inventory.ts";
import { type Milliseconds, milliseconds } from "../../core/brand.ts";
import type { Node } from "../../kube/objects.ts";
import { ageOf, hasTaint, isBeingDeleted, isLeaving, isPaused, isReady } from "../node-facts.ts";
import { deletionAnnotation, shutdownTaint } from "../well-known.ts";
import { type Evidence, isRecent, judge, type ProofKind } from "./evidence.ts";
import type { MassDecision } from "./mass-limit.ts";
import type { LifecycleSettings } from "./settings.ts";

export type LifecycleDecision =
  | { readonly kind: "leave" }
  | { readonly kind: "taint"; readonly shutdown: boolean }
  /** Nothing follows now; look again in a while. */
  | { readonly kind: "watch" }
  | { readonly kind: "ask"; readonly after: Milliseconds; readonly way?: ProofKind }
  | { readonly kind: "hold"; readonly reason: string; readonly text: string }
  | { readonly kind: "delete"; readonly isAnnounced: boolean };

export const massDeletionHeld = "MassDeletionHeld";

export interface LifecyclePlanInput {
  readonly node: Node;
  readonly answer: Answer;
  readonly evidence: Evidence;
  readonly ways: readonly ProofKind[];
  readonly mass: () => MassDecision;
  readonly settings: LifecycleSettings;
  /** Wall and monotonic time. */
  readonly now: { readonly wall: number; readonly monotonic: number };
}

export function planLifecycle(input: LifecyclePlanInput): LifecycleDecision {
  const { node, answer, evidence, ways } = input;
  if (isPaused(node) || isBeingDeleted(node) || answer.kind === "foreign") return { kind: "leave" };
  const isTainted = hasTaint(node, shutdownTaint, "NoSchedule");
  if (isReady(node)) return isTainted ? { kind: "taint", shutdown: false } : { kind: "leave" };
  switch (answer.kind) {
    case "exists": {
      if (answer.asOf < evidence.seenSince) return { kind: "ask", after: milliseconds(0) };
      const { state } = answer.instance;
      if (state === undefined) {
        // A listing that does not tell: only a lookup may, and until then nothing is concluded.
        const isReported = answer.proof === "lookup" || !ways.includes("lookup");
        return isReported ? { kind: "watch" } : { kind: "ask", after: milliseconds(0), way: "lookup" };
      }
      const isStopped = state === "stopped";
      if (!isStopped && input.settings.shutdownTaintGoes === "when-ready") return { kind: "watch" };
      return isStopped === isTainted ? { kind: "watch" } : { kind: "taint", shutdown: isStopped };
    }
    case "ambiguous":
      return answer.asOf < evidence.seenSince ? { kind: "ask", after: milliseconds(0) } : { kind: "watch" };
    case "unknown":
      return { kind: "ask", after: milliseconds(0) };
    case "gone":
      return planDeletion(input);
  }
}

function planDeletion({ node, evidence, ways, mass, settings, now }: LifecyclePlanInput): LifecycleDecision {
  if (settings.deletion === "off") return { kind: "watch" };
  const isNamedOnly = (node.spec.providerID ?? "") === "";
  // It is at least as old as it has been watched, whatever a wall clock that was set back says.
  const age = Math.max(now.monotonic - evidence.since, ageOf(node, now.wall));
  const beyondMinAge = age - settings.minAgeWithoutID;
  if (isNamedOnly && beyondMinAge < 0) return { kind: "ask", after: milliseconds(-beyondMinAge) };
  const decision = judge(evidence, ways, settings, now.monotonic);
  if (decision.kind === "more") {
    return { kind: "ask", after: decision.after, ...(decision.way !== undefined && { way: decision.way }) };
  }
  // What was proved while the machine may not have been visible yet proves nothing.
  const newest = Math.max(...evidence.proofs.map(({ asOf }) => asOf));
  if (isNamedOnly && newest < now.monotonic - beyondMinAge) return { kind: "ask", after: milliseconds(0) };
  if (isKept(node)) {
    return hold("DeletionForbidden", `Its machine is gone, but ${deletionAnnotation}=never keeps the node.`);
  }
  const isAnnounced = isAnnouncedAsLeaving(node, evidence);
  // Who is announced does not count, but while the cloud is taken to be wrong about many it is believed about nobody.
  if (!isConfirmed(node)) {
    const allowed = mass();
    if (!allowed.mayDelete) return hold(massDeletionHeld, allowed.text);
  }
  if (settings.deletion === "observe") {
    return hold("DeletionObserved", "Its machine is gone; --node-deletion=observe leaves the node in place.");
  }
  if (!isRecent(evidence, now.monotonic)) return { kind: "ask", after: milliseconds(0) };
  return { kind: "delete", isAnnounced };
}

/** Never deleted, whatever the cloud says; so it is no candidate either. A word that is not known is taken for "never". */
export function isKept(node: Node): boolean {
  const asked = node.metadata.annotations?.[deletionAnnotation];
  return asked !== undefined && asked !== "confirmed";
}

const isConfirmed = (node: Node): boolean => node.metadata.annotations?.[deletionAnnotation] === "confirmed";

/** Not counted against the mass limit: somebody said before that it would go, or says now that it may. */
export function isAnnouncedAsLeaving(node: Node, evidence: Evidence): boolean {
  return isLeaving(node) || evidence.wasTerminating || isConfirmed(node);
}

const hold = (reason: string, text: string): LifecycleDecision => ({ kind: "hold", reason, text });

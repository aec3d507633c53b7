// Describes a Node: which instance it has, and why it is not initialized, tainted or deleted. Pure.

import type { Answer } from "../../cloud/inventory/instances.ts";
import { problemOfError } from "../../controllers/classify-error.ts";
import type { ForeignMatch } from "../../controllers/foreign-nodes.ts";
import { foreignMatch } from "../../controllers/node/texts.ts";
import {
  hasTaint,
  isBeingDeleted,
  isReady,
  isUninitialized,
  outOfServiceOf,
  providerIDOf,
  readiness,
  taintsOf,
} from "../../controllers/node-facts.ts";
import type { NodeEvidence } from "../../controllers/node-lifecycle/observe.ts";
import { isPaused } from "../../controllers/pause.ts";
import {
  cloudCondition,
  cloudLabelsAnnotation,
  networkCondition,
  outOfServiceTaint,
  pausedAnnotation,
  shutdownTaint,
} from "../../controllers/well-known.ts";
import { defined } from "../../core/defined.ts";
import { commandText, shortList, withoutFullStop } from "../../core/text.ts";
import type { Node } from "../../kube/objects.ts";
import type { Instance } from "../../provider/instances.ts";
import {
  type CloudOutage,
  type Describable,
  type DescribedDecision,
  type Description,
  failingText,
  isExplained,
  type Judgement,
  type KnownState,
  listingsText,
  type ObjectNote,
  stateOf,
  summaryWith,
  wouldText,
} from "./description.ts";

/** A Node, and what else is known about it. */
export interface KnownNode extends KnownState {
  readonly node: Node;
  readonly isSelected: boolean;
  /** True with --node-deletion=off. */
  readonly isKept: boolean;
  /** True with --out-of-service-taint=enforce. */
  readonly isTainted: boolean;
  /** The inventory's answer about its instance; undefined without a cloud. */
  readonly answer: Answer | undefined;
  /** Set for a k3s or RKE2 Node that --foreign-nodes makes a target. */
  readonly match?: ForeignMatch | undefined;
  /** Proofs that its instance is absent. */
  readonly proofs: NodeEvidence["proofs"];
  /** Proofs that its machine is stopped. */
  readonly stops: NodeEvidence["stops"];
  /** Why the source of its instance does not answer; undefined while requests to it succeed. */
  readonly listingFailure?: CloudOutage | undefined;
  /** Monotonic. */
  readonly now: number;
}

const seconds = (milliseconds: number): string => `${Math.max(0, Math.round(milliseconds / 1000))} s`;

/** A key that the provider id does not contain means nothing to users. */
const nameOf = ({ title, key, id }: Instance): string =>
  title === key || !id.includes(key) ? title : `${title} (${key})`;

function instanceText({ answer, match, listingFailure, now }: KnownNode): string | undefined {
  if (match?.kind === "matched")
    return `${match.instance.title} (${match.machine?.key ?? ""}), found by its name${match.isCertain ? "" : " earlier"}`;
  if (answer === undefined) return undefined;
  switch (answer.kind) {
    case "exists": {
      const { state = "state unknown", zone, region, type } = answer.instance;
      const where = [type, zone ?? region].filter((text) => text !== undefined && text !== "").join(", ");
      return `${nameOf(answer.instance)}, ${state}${where === "" ? "" : `, ${where}`}; seen ${seconds(now - answer.asOf)} ago in ${answer.source}`;
    }
    case "unconfirmed":
      return `${answer.instance.title}, found by ${answer.by} in ${answer.source}; another account or region has not answered yet`;
    case "ambiguous":
      return `ambiguous: ${shortList(answer.candidates.map(({ instance, source }) => `${nameOf(instance)} in ${source}`))} match by ${answer.by}`;
    case "gone":
      return answer.undescribed === undefined
        ? `none: proved ${seconds(now - answer.asOf)} ago by a ${answer.proof}`
        : `none with this name, but the cloud does not report the name of ${answer.undescribed.title}`;
    case "foreign":
      return "the provider ID belongs to another cloud, or to an account that cannot be read";
    case "unknown":
      return listingFailure === undefined
        ? "unknown: the cloud has not answered yet"
        : `unknown: ${failingText(listingFailure, now)}`;
  }
}

/** The conditions that only Fairlead writes. */
function conditionNotes({ status }: Node): readonly ObjectNote[] {
  return (status.conditions ?? []).flatMap(
    ({ type, status: value, reason = type, message = "" }): readonly ObjectNote[] => {
      const isCloudProblem = type === cloudCondition && value === "False";
      const hasNoRoute = type === networkCondition && value === "True";
      return isCloudProblem || hasNoRoute ? [{ severity: "error", reason, text: message || reason }] : [];
    },
  );
}

/** Conditions that administrators set since Kubernetes 1.37. No controller reacts to them. */
const lifecycleConditions: ReadonlySet<string> = new Set([
  ...["GracefulNodeShutdownInProgress", "DrainInProgress", "Drained", "MaintenancePlanned"],
  "MaintenanceInProgress",
]);

function lifecycleText({ status }: Node): string | undefined {
  const set = (status.conditions ?? []).filter(
    (condition) => lifecycleConditions.has(condition.type) && condition.status === "True",
  );
  return set.length === 0 ? undefined : set.map(({ type }) => type).join(", ");
}

/** Whether the Node object alone shows that the Node is settled. */
export function isPlainlySettled(node: Node): boolean {
  return (
    isReady(node) &&
    !isUninitialized(node) &&
    !isBeingDeleted(node) &&
    !isPaused(node) &&
    !hasTaint(node, shutdownTaint, "NoSchedule") &&
    outOfServiceOf(node) === undefined &&
    conditionNotes(node).length === 0
  );
}

function absenceNotes({ proofs, now, isKept }: KnownNode): readonly ObjectNote[] {
  const [first] = proofs;
  if (first === undefined) return [];
  const consequence = isKept
    ? "The Node is not deleted, because --node-deletion is off."
    : "The Node is deleted when a later answer confirms this, a lookup of the instance too if the cloud supports that. An answer with the instance resets this.";
  const times = proofs.length === 1 ? "once" : `${proofs.length} times`;
  return [
    {
      severity: isKept ? "notice" : "wait",
      reason: "ProofOfAbsence",
      text: `The cloud has answered ${times} without its instance, at first ${seconds(now - first.beganAt)} ago (${proofs.map(({ kind }) => kind).join(", ")}). ${consequence}`,
    },
  ];
}

/** The missing steps before the out-of-service taint. */
function stopNotes({ node, stops, now, isTainted }: KnownNode): readonly ObjectNote[] {
  const [first] = stops;
  if (first === undefined || !isTainted || outOfServiceOf(node) !== undefined) return [];
  const times = stops.length === 1 ? "once" : `${stops.length} times`;
  const text = `The cloud has answered ${times} that its machine is stopped, at first ${seconds(now - first.beganAt)} ago (${stops.map(({ kind }) => kind).join(", ")}). The Node gets the taint ${outOfServiceTaint} when a later answer confirms this, a lookup of the machine too if the cloud supports that. An answer with a different state resets this.`;
  return [{ severity: "wait", reason: "ProofOfStop", text }];
}

function outOfServiceText(node: Node): string | undefined {
  const by = outOfServiceOf(node);
  if (by === undefined) return undefined;
  const taint = `has the taint ${outOfServiceTaint}, which evicts its pods and releases their volumes`;
  return by === "Fairlead's"
    ? `${taint}. Fairlead set it on proof that the machine does not run, and removes it when the machine runs or the Node is Ready.`
    : `${taint}. Fairlead did not set it, and does not remove it.`;
}

/** The controllers' reports are more precise, for example about why a Node is not initialized. */
function unknownNotes({ answer, listingFailure, notes, now }: KnownNode): readonly ObjectNote[] {
  const isUnknown = answer?.kind === "unknown" || answer?.kind === "unconfirmed";
  if (!isUnknown || listingFailure === undefined || isExplained(notes)) return [];
  const { reason = "CloudUnavailable" } = problemOfError(listingFailure.error) ?? {};
  const why = withoutFullStop(failingText(listingFailure, now));
  const text = `The state of its instance is not known, because ${why}. The Node is neither updated nor deleted until they succeed.`;
  return [{ severity: "error", reason, text }];
}

function notesOf(known: KnownNode): readonly ObjectNote[] {
  const isHeld = known.notes.some(({ severity }) => severity === "hold");
  const proofs = isHeld ? [] : [...absenceNotes(known), ...stopNotes(known)];
  const notes = [...proofs, ...unknownNotes(known), ...known.notes];
  return [...notes, ...(isExplained(notes) ? [] : conditionNotes(known.node))];
}

function judgeForeign(node: Node, match: ForeignMatch): Judgement {
  if (match.kind === "awaited") {
    const held = {
      changes: " No load balancer is changed until it is.",
      removals: " Load balancers keep all targets until it is.",
      nothing: "",
    }[match.holds];
    return {
      state: "working",
      summary: `It is a k3s or RKE2 Node, and its instance is not known yet.${held}`,
    };
  }
  const { text, remedy = "" } = foreignMatch(node, match);
  return { state: match.kind === "matched" ? "settled" : "unmanaged", summary: `${text} ${remedy}`.trim() };
}

function judge(
  { node, answer, match, isSelected, isDue }: KnownNode,
  notes: readonly ObjectNote[],
  decisions: readonly DescribedDecision[],
): Judgement {
  const { name } = node.metadata;
  if (!isSelected)
    return {
      state: "unmanaged",
      summary: "--node-selector does not match its labels, so Fairlead does not change it.",
    };
  if (match !== undefined) return judgeForeign(node, match);
  if (answer?.kind === "foreign")
    return {
      state: "unmanaged",
      summary: `Its provider ID ${providerIDOf(node) ?? ""} belongs to another cloud, or to an account that cannot be read, so Fairlead does not change it.`,
    };
  if (isPaused(node))
    return {
      state: "paused",
      summary: `It is paused by ${pausedAnnotation}: Fairlead changes nothing. To continue: ${commandText(`kubectl annotate node ${name} ${pausedAnnotation}-`)}`,
    };
  const [first] = notes;
  const state = stateOf(notes);
  const ready = isReady(node) ? "Ready" : "not Ready";
  if (state !== undefined && first !== undefined)
    return {
      state,
      ...summaryWith(`It is ${ready}${isUninitialized(node) ? " and not initialized" : ""}. `, first),
    };
  if (isBeingDeleted(node)) return { state: "working", summary: "It is being deleted." };
  const planned = decisions.find(({ outcome }) => outcome === "observed");
  if (planned !== undefined) return { state: "working", summary: `It is ${ready}. ${wouldText(planned)}` };
  if (isUninitialized(node))
    return { state: "working", summary: "It has joined, and is not initialized yet." };
  const outOfService = outOfServiceText(node);
  if (outOfService !== undefined) return { state: "settled", summary: `It is ${ready} and ${outOfService}` };
  if (hasTaint(node, shutdownTaint, "NoSchedule"))
    return {
      state: "settled",
      summary: `It is ${ready} and has the shutdown taint, because its instance is shut down.`,
    };
  const exists = answer?.kind === "exists" ? ", and its instance exists" : "";
  const summary = isReady(node)
    ? `It is Ready and initialized${exists}.`
    : `It is initialized${exists}, but it is not Ready. Fairlead has nothing to change; check its kubelet and its network.`;
  const isPending = (answer === undefined || answer.kind === "unknown") && isDue;
  return { state: isPending ? "working" : "settled", summary };
}

export function nodeSubject(known: KnownNode): Describable {
  const { name } = known.node.metadata;
  const { nextAttemptInSeconds } = known;
  return {
    kind: "Node",
    name,
    notes: notesOf(known),
    nextAttemptInSeconds,
    journalNames: [`node/${name}`],
    judge: (notes, decisions) => judge(known, notes, decisions),
    facts: () => factsOf(known),
  };
}

function factsOf(known: KnownNode): Description["facts"] {
  const { node, answer, listingFailure, now } = known;
  const { metadata, status } = node;
  const addresses = (status.addresses ?? []).map(({ type, address }) => `${address} (${type})`);
  const taints = taintsOf(node).map(({ key, effect }) => `${key}:${effect}`);
  const fromCloud = metadata.annotations?.[cloudLabelsAnnotation]?.split(",") ?? [];
  return defined({
    Ready: readiness(node),
    Lifecycle: lifecycleText(node),
    "Provider ID": providerIDOf(node) ?? "none",
    Instance: instanceText(known),
    Listings:
      answer === undefined || answer.kind === "unknown" ? undefined : listingsText(listingFailure, now),
    Addresses: addresses.length === 0 ? "none" : shortList(addresses),
    Taints: taints.length === 0 ? "none" : shortList(taints),
    "Labels from the cloud":
      fromCloud.length === 0 ? undefined : `${shortList(fromCloud)} (--node-labels-from)`,
    Deletion: metadata.deletionTimestamp,
  }) as Description["facts"];
}

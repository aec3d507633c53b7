// The events of the node-lifecycle controller, as functions of their subjects. Pure; messages marked "upstream"
// begin exactly as in upstream.

import { promiseOf, textOf } from "../../core/error-message.ts";
import type { Problem } from "../../core/problem.ts";
import { commandText } from "../../core/text.ts";
import type { Node } from "../../kube/objects.ts";
import type { Instance } from "../../provider/instances.ts";
import { type Held, whyHeld } from "../kernel/doubt.ts";
import { removalWindowText } from "../kernel/removal-kinds.ts";
import { describeUnnamed, nodeDeletionOf } from "../node-facts.ts";
import { deletionAnnotation, outOfServiceTaint } from "../well-known.ts";

/** Upstream's message. */
export function deletingNode({ metadata: { name } }: Node): Problem {
  return {
    severity: "notice",
    reason: "DeletingNode",
    text: `Deleting node ${name} because it does not exist in the cloud provider`,
  };
}

export function deletingNodeFailed({ metadata: { name } }: Node, error: unknown): Problem {
  return {
    severity: "error",
    reason: "DeletingNodeFailed",
    text: `Failed deleting node ${name}: ${textOf(error)}`,
    promise: promiseOf(error),
  };
}

export function deletionForbidden(node: Node): Problem {
  const isNever = nodeDeletionOf(node).problem === undefined;
  const annotation = `${deletionAnnotation}${isNever ? "=never" : " (unknown value, treated as never)"}`;
  return {
    severity: "hold",
    reason: "DeletionForbidden",
    text: `The instance no longer exists, but annotation ${annotation} prevents the deletion of the Node; it stays a load balancer target and keeps its routes.`,
    remedy: `Remove the annotation to delete the Node.`,
  };
}

export function deletionUnproved(unnamed: Instance, isConfirmed: boolean): Problem {
  const anyway = isConfirmed
    ? ` The annotation ${deletionAnnotation}=confirmed does not change this; if the instance is gone, delete the Node yourself.`
    : "";
  const text = `${describeUnnamed(unnamed)} The Node is not deleted before the cloud shows that name.${anyway}`;
  return { severity: "hold", reason: "DeletionUnproved", text };
}

export function deletionObserved(): Problem {
  return {
    severity: "hold",
    reason: "DeletionObserved",
    text: "The instance no longer exists. The Node is not deleted because of --node-deletion=observe; it stays a load balancer target and keeps its routes.",
    remedy: "Set --node-deletion=enforce to delete such Nodes.",
  };
}

export const massDeletionReason = "MassDeletionHeld";

/** Like `whyHeld`, for Nodes. The kubelet of a Ready Node reports, so its machine runs. */
const whyNodesHeld = (held: Held): string =>
  held.contradictedBy === undefined
    ? whyHeld(held, "a cloud fault")
    : `. The machine of ${held.contradictedBy} is missing although the Node is Ready: the cloud does not show every machine (its credentials may lack permissions)`;

/** Counts Ready Nodes but not announced Nodes. */
export function massDeletionHeld(held: Held): Problem {
  const { absent, recent, total, account, contradictedBy, howToRelease } = held;
  // Announced Nodes are not counted, but doubt about the account holds them too.
  const missing = `The cloud shows no instance for ${Math.max(1, absent)} of ${total - recent} Nodes`;
  const deleted = `${recent} ${recent === 1 ? "Node was" : "Nodes were"} deleted in the last ${removalWindowText}`;
  const fault = contradictedBy === undefined ? "belong to another project" : "lack permissions";
  const end = contradictedBy === undefined ? "" : `, or when ${contradictedBy} is no longer Ready`;
  const cause = `the cloud is wrong, or its credentials, which it accepts, ${fault}: wait, or correct them; `;
  return {
    severity: "hold",
    reason: massDeletionReason,
    text: `${recent === 0 ? missing : `${missing}, and ${deleted}`}${whyNodesHeld(held)}, so none is deleted; they stay load balancer targets and keep their routes.`,
    remedy: `Check in the cloud console whether these instances exist. If they do, ${account === undefined ? cause : ""}this ends when the cloud shows the instances${end}. If they are gone, delete all of these Nodes: ${howToRelease}. To delete one: ${commandText(`kubectl annotate node NAME ${deletionAnnotation}=confirmed`)}`,
  };
}

export const outOfServiceHeldReason = "OutOfServiceHeld";

const taintCommand = (name: string): string =>
  commandText(`kubectl taint node ${name} ${outOfServiceTaint}=nodeshutdown:NoExecute`);

/** Counts Ready Nodes, but not announced Nodes or Nodes that an administrator tainted. */
export function outOfServiceHeld(held: Held): Problem {
  const { absent, recent, total, howToRelease } = held;
  const missing = `The cloud shows no running machine for ${Math.max(1, absent)} of ${total - recent} Nodes`;
  return {
    severity: "hold",
    reason: outOfServiceHeldReason,
    text: `${missing}${recent === 0 ? "" : `, and ${recent} were deleted in the last ${removalWindowText}`}${whyNodesHeld(held)}, so none gets the taint ${outOfServiceTaint}: the pods keep their volumes.`,
    remedy: `Check in the cloud console whether these machines run. If they do, this ends when the cloud shows them as running. If they do not, taint all of these Nodes: ${howToRelease}. To taint one: ${taintCommand("NAME")}. Nodes that were cordoned before do not count towards the limit.`,
  };
}

export function outOfServiceObserved({ metadata: { name } }: Node): Problem {
  return {
    severity: "hold",
    reason: "OutOfServiceObserved",
    text: `The machine is proved to be stopped or gone. The Node does not get the taint ${outOfServiceTaint} because of --out-of-service-taint=observe, so its pods keep their volumes.`,
    remedy: `Set --out-of-service-taint=enforce to taint such Nodes. To taint this one: ${taintCommand(name)}`,
  };
}

export function outOfServiceChanged(isSet: boolean, why: string): Problem {
  return isSet
    ? {
        severity: "notice",
        reason: "NodeOutOfService",
        text: `Set the taint ${outOfServiceTaint}, because ${why}, which several cloud answers prove: the pods are evicted, and kube-controller-manager detaches their volumes.`,
      }
    : {
        severity: "notice",
        reason: "NodeBackInService",
        text: `Removed the taint ${outOfServiceTaint}, because ${why}.`,
      };
}

// Every event of the node-lifecycle controller, as a function of what it is about. Pure; messages marked "upstream"
// begin exactly as in upstream.

import { promiseOf, textOf } from "../../core/error-message.ts";
import type { Problem } from "../../core/problem.ts";
import { commandText } from "../../core/text.ts";
import type { Node } from "../../kube/objects.ts";
import type { Instance } from "../../provider/instances.ts";
import { type Held, whyHeld } from "../kernel/doubt.ts";
import { removalWindowText } from "../kernel/removal-kinds.ts";
import { describeUnnamed, nodeDeletionOf } from "../node-facts.ts";
import { deletionAnnotation } from "../well-known.ts";

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
  const annotation = `${deletionAnnotation}${isNever ? "=never" : ", whose unknown value means never,"}`;
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

/** Ready Nodes are included, announced ones are not. */
export function massDeletionHeld(held: Held): Problem {
  const { absent, recent, total, account, howToRelease } = held;
  // Announced Nodes are not counted, but doubt about the account holds them too.
  const missing = `The cloud shows no instance for ${Math.max(1, absent)} of ${total - recent} Nodes`;
  const deleted = `${recent} ${recent === 1 ? "Node was" : "Nodes were"} deleted in the last ${removalWindowText}`;
  const cause =
    "the cloud is wrong, or its credentials, which it accepts, belong to another project: wait, or correct them; ";
  return {
    severity: "hold",
    reason: massDeletionReason,
    text: `${recent === 0 ? missing : `${missing}, and ${deleted}`}${whyHeld(held, "a cloud fault")}, so none is deleted; they stay load balancer targets and keep their routes.`,
    remedy: `Check in the console of the cloud whether these instances exist. If they do, ${account === undefined ? cause : ""}this ends when the cloud shows the instances. If they are gone, delete all of these Nodes: ${howToRelease}. To delete one: ${commandText(`kubectl annotate node NAME ${deletionAnnotation}=confirmed`)}`,
  };
}

// What is said on a Service about a change, once when it begins and once when it is done, in upstream's words. A round
// that changes nothing says nothing.

import { messageOf } from "../../core/message-of.ts";
import type { NodeEvent } from "../node-ports.ts";
import type { Fingerprint } from "./fingerprint.ts";

export type Change = "ensure" | "update" | "delete";

const begin: Readonly<Record<Change, NodeEvent | undefined>> = {
  ensure: { type: "Normal", reason: "EnsuringLoadBalancer", message: "Ensuring load balancer" },
  update: undefined,
  delete: { type: "Normal", reason: "DeletingLoadBalancer", message: "Deleting load balancer" },
};

const end: Readonly<Record<Change, NodeEvent>> = {
  ensure: { type: "Normal", reason: "EnsuredLoadBalancer", message: "Ensured load balancer" },
  update: { type: "Normal", reason: "UpdatedLoadBalancer", message: "Updated load balancer with new hosts" },
  delete: { type: "Normal", reason: "DeletedLoadBalancer", message: "Deleted load balancer" },
};

export const beginOf = (change: Change): NodeEvent | undefined => begin[change];
export const endOf = (change: Change): NodeEvent => end[change];

export const failureOf = (isEnding: boolean, error: unknown): NodeEvent => {
  const text = messageOf(error);
  return isEnding
    ? {
        type: "Warning",
        reason: "DeleteLoadBalancerFailed",
        message: `Error deleting load balancer: ${text}`,
      }
    : { type: "Warning", reason: "SyncLoadBalancerFailed", message: `Error syncing load balancer: ${text}` };
};

/** Only other targets than before is an update in upstream's words; anything else makes it anew or as it should be. */
export const changeOf = (before: Fingerprint | undefined, now: Fingerprint, isEnding: boolean): Change => {
  if (isEnding) return "delete";
  return before !== undefined && before.rest === now.rest && before.targets !== now.targets
    ? "update"
    : "ensure";
};

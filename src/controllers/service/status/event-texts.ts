// What is said on a Service about a change, once when it begins and once when it is done, in upstream's words. A round
// that changes nothing says nothing.

import { isAccountWide } from "../../../cloud/error-policies.ts";
import { messageOf } from "../../../core/errors.ts";
import type { Service } from "../../../kube/objects.ts";
import type { NodeEvent } from "../../node-deps.ts";
import type { Change } from "../desired/kind-of-change.ts";
import { isEnding } from "../predicates.ts";

const begin: Readonly<Record<Change, NodeEvent | undefined>> = {
  ensure: { type: "Normal", reason: "EnsuringLoadBalancer", message: "Ensuring load balancer", quiet: true },
  update: undefined,
  delete: { type: "Normal", reason: "DeletingLoadBalancer", message: "Deleting load balancer", quiet: true },
  release: {
    type: "Normal",
    reason: "ReleasingLoadBalancer",
    message: "Releasing load balancer",
    quiet: true,
  },
};

const end: Readonly<Record<Change, NodeEvent>> = {
  ensure: { type: "Normal", reason: "EnsuredLoadBalancer", message: "Ensured load balancer" },
  update: { type: "Normal", reason: "UpdatedLoadBalancer", message: "Updated load balancer with new hosts" },
  delete: { type: "Normal", reason: "DeletedLoadBalancer", message: "Deleted load balancer" },
  release: { type: "Normal", reason: "ReleasedLoadBalancer", message: "Released load balancer" },
};

/** Upstream has no such words; whoever looks for the balancer later needs its name. */
export function releasedAs(name: string | undefined): NodeEvent {
  return {
    ...end.release,
    message: `Released load balancer${name === undefined ? "" : ` ${name}`}: it stays in the cloud and is not ours any more`,
  };
}

/** For the log: there is no Service any more to say it on. */
export const deletedUnasked = "Deleted load balancer: its Service is gone";

export const beginOf = (change: Change): NodeEvent | undefined => begin[change];
export const endOf = (change: Change): NodeEvent => end[change];

/** More names would make the event unreadable. */
const mostNames = 20;

/** In upstream's words; what is tried after that is a whole sync, there as here. */
export function updateFailureOf(hosts: readonly string[], error: unknown): NodeEvent {
  const names = hosts.toSorted().slice(0, mostNames);
  const shown = hosts.length > mostNames ? [...names, `<${hosts.length - mostNames} more>`] : names;
  return {
    type: "Warning",
    reason: "UpdateLoadBalancerFailed",
    message:
      `Error updating load balancer with new hosts [${shown.join(" ")}] ` +
      `[node names limited, total number of nodes: ${hosts.length}], error: ${messageOf(error)}`,
    ...(isAccountWide(error) && { quiet: true }),
  };
}

export function failureOf(service: Service, error: unknown): NodeEvent {
  const [reason, what] = isEnding(service)
    ? ["DeleteLoadBalancerFailed", "deleting"]
    : ["SyncLoadBalancerFailed", "syncing"];
  return {
    type: "Warning",
    reason,
    message: `Error ${what} load balancer: ${messageOf(error)}`,
    ...(isAccountWide(error) && { quiet: true }),
  };
}

// The cluster according to the API server: its Services and Nodes, whose cloud objects must stay, and its Lease.

import { readClusterUID } from "../../app/cluster-identity.ts";
import type { Flags } from "../../app/flags/flag-table.ts";
import { findLeadership, newLeader, readLease } from "../../app/leadership/read-leases.ts";
import { type Operator, readingApi } from "../../app/operator.ts";
import { messageOf } from "../../core/error-message.ts";
import type { KubeApi } from "../../kube/client/api.ts";
import { listAll } from "../../kube/client/list-all.ts";
import { isKubeError, type KubeError } from "../../kube/errors/kube-error.ts";
import type { Lease, Node, Service } from "../../kube/objects.ts";
import { nodes, services } from "../../kube/resources.ts";

interface Contents {
  /** Undefined if reading it is forbidden. If no server answers, the uid from the flags. */
  readonly uid: string | undefined;
  /** Empty if no server answers. */
  readonly services: readonly Service[];
  readonly nodes: readonly Node[];
}

export type ClusterState = Contents &
  (
    | { readonly kind: "read"; readonly origin: string; readonly lease: Lease | undefined }
    /** No server answered: connections fail, or there is no kubeconfig. */
    | { readonly kind: "unreachable"; readonly why: string }
  );

/**
 * Whether no server exists at this address, as far as a client can determine. Any response comes from a server, even an
 * invalid certificate or a 504. A server that does not answer in time may be overloaded.
 */
const isSilence = (error: unknown): error is KubeError =>
  isKubeError(error, "unreachable", "configuration") && error.status === undefined;

/** Throws if a server answers some but not all requests, or if it may exist and does not answer. */
export async function readCluster(operator: Operator): Promise<ClusterState> {
  const { settings, signal } = operator;
  let api: KubeApi;
  try {
    api = await readingApi(operator);
  } catch (error) {
    signal.throwIfAborted();
    return unread([error], settings.flags);
  }
  const reads = [
    listAll(api, services, signal),
    listAll(api, nodes, signal),
    readLease(api, settings.flags, signal),
    readClusterUID(api, signal),
  ] as const;
  // All reads finish first, because a single response among failures proves that a server exists.
  const ended = await Promise.allSettled(reads);
  signal.throwIfAborted();
  const errors = ended.flatMap((read) => (read.status === "rejected" ? [read.reason] : []));
  if (errors.length === ended.length) return unread(errors, settings.flags);
  if (errors.length > 0) throw refused(errors[0]);
  const [allServices, allNodes, lease, uid] = await Promise.all(reads);
  return { kind: "read", origin: api.origin, uid, services: allServices, nodes: allNodes, lease };
}

function unread(errors: readonly unknown[], { "cluster-uid": uid }: Flags): ClusterState {
  const [first] = errors;
  if (isSilence(first) && errors.every(isSilence))
    return { kind: "unreachable", why: first.message, uid, services: [], nodes: [] };
  throw refused(errors.find((error) => !isSilence(error)));
}

function refused(error: unknown): Error {
  const mayExist = isKubeError(error, "timeout", "tls", "server", "throttled");
  const advice = mayExist
    ? "a server that is overloaded or unhealthy is not gone. Try again when it answers; if it belongs to another cluster, set --kubeconfig=/dev/null"
    : "cleanup needs the verb list for services and nodes, and get for the Lease of the manager";
  return new Error(`${messageOf(error)} (${advice}; nothing is deleted before that is read)`, {
    cause: error,
  });
}

/** The leading replica; undefined if there is none. */
export async function leaderOf(operator: Operator, cluster: ClusterState): Promise<string | undefined> {
  if (cluster.kind !== "read") return undefined;
  const { settings, platform, signal } = operator;
  return findLeadership(await readingApi(operator), settings.flags, cluster.lease, platform.clock, signal);
}

/**
 * The replica that acquired or renewed the Lease since the cluster was read, found with one request; undefined if there is none.
 */
export async function newLeaderOf(operator: Operator, cluster: ClusterState): Promise<string | undefined> {
  if (cluster.kind !== "read") return undefined;
  const { settings, signal } = operator;
  return newLeader(cluster.lease, await readLease(await readingApi(operator), settings.flags, signal));
}

/** Throws if a manager has begun to lead, or if the API server has become reachable or unreachable. */
export function assertUnchanged(before: ClusterState, now: ClusterState): void {
  if (before.kind !== now.kind) {
    const what = now.kind === "read" ? "answers now" : `no longer answers (${now.why})`;
    throw new Error(`The API server ${what}, so cleanup stopped. Run it again to see what is left.`);
  }
  if (before.kind !== "read" || now.kind !== "read") return;
  if (before.uid !== now.uid)
    throw new Error(
      `The API server at ${now.origin} now belongs to another cluster (uid ${now.uid ?? "unknown"}, before ${before.uid ?? "unknown"}), so cleanup stopped.`,
    );
  const leader = newLeader(before.lease, now.lease);
  if (leader !== undefined)
    throw new Error(
      `The manager ${leader} has begun to lead, so cleanup stopped. Stop the manager, and run cleanup again.`,
    );
}

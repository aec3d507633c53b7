// What the API server says about the cluster: its Services and Nodes, whose objects in the cloud must stay, and its Lease.

import { messageOf } from "../../core/error-message.ts";
import type { KubeApi } from "../../kube/client/api.ts";
import { listAll } from "../../kube/client/list-all.ts";
import { isKubeError, type KubeError } from "../../kube/errors/kube-error.ts";
import type { Lease, Node, Service } from "../../kube/objects.ts";
import { nodes, services } from "../../kube/resources.ts";
import { readClusterUID } from "../cluster-identity.ts";
import type { Flags } from "../flags/flag-table.ts";
import { readLease } from "../leadership/read-leases.ts";

export type ClusterState =
  | {
      readonly kind: "read";
      readonly origin: string;
      /** Undefined without the permission to read it. */
      readonly uid: string | undefined;
      readonly services: readonly Service[];
      readonly nodes: readonly Node[];
      readonly lease: Lease | undefined;
    }
  /** No server has answered: no connection can be opened, or there is no kubeconfig. */
  | { readonly kind: "unreachable"; readonly why: string };

/**
 * Whether no server exists at this address, as far as a client can see. Every answer is one of a server: also an invalid certificate,
 * and a 504. A server that does not answer in time may be overloaded.
 */
const isSilence = (error: unknown): error is KubeError =>
  isKubeError(error, "unreachable", "configuration") && error.status === undefined;

/** Throws if a server answers any request and not all can be read, or if it may exist and does not answer. */
export async function readCluster(
  connect: () => Promise<KubeApi>,
  flags: Flags,
  signal: AbortSignal,
): Promise<ClusterState> {
  let api: KubeApi;
  try {
    api = await connect();
  } catch (error) {
    signal.throwIfAborted();
    return unread([error]);
  }
  const reads = [
    listAll(api, services, signal),
    listAll(api, nodes, signal),
    readLease(api, flags, signal),
    readClusterUID(api, signal),
  ] as const;
  // Each read ends first: one answer among failures shows that there is a server.
  const ended = await Promise.allSettled(reads);
  signal.throwIfAborted();
  const errors = ended.flatMap((read) => (read.status === "rejected" ? [read.reason] : []));
  if (errors.length === ended.length) return unread(errors);
  if (errors.length > 0) throw refused(errors[0]);
  const [allServices, allNodes, lease, uid] = await Promise.all(reads);
  return { kind: "read", origin: api.origin, uid, services: allServices, nodes: allNodes, lease };
}

function unread(errors: readonly unknown[]): ClusterState {
  const [first] = errors;
  if (isSilence(first) && errors.every(isSilence)) return { kind: "unreachable", why: first.message };
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

// Finds the manager that leads, through the Lease: its holder identity begins with the host name of the pod or the Node.

import type { KubeApi } from "../../kube/client/api.ts";
import { isKubeError } from "../../kube/errors/kube-error.ts";
import { holderOf } from "../../kube/leader-election/lease-record.ts";
import type { Node } from "../../kube/objects.ts";
import { leases, nodes } from "../../kube/resources.ts";
import type { Flags } from "../flags/table.ts";

export interface Leader {
  readonly identity: string;
  /** Of its pod or Node; undefined if neither is found. */
  readonly address: string | undefined;
}

/** `worker-1_1f0c…` is on the host `worker-1`. */
export const hostOf = (identity: string): string => identity.slice(0, Math.max(0, identity.lastIndexOf("_")));

function addressIn({ status }: Node): string | undefined {
  const addresses = status.addresses ?? [];
  return (addresses.find(({ type }) => type === "InternalIP") ?? addresses[0])?.address;
}

function podIPOf(pod: unknown): string | undefined {
  const { status } = (pod ?? {}) as { readonly status?: { readonly podIP?: unknown } };
  return typeof status?.podIP === "string" ? status.podIP : undefined;
}

/** Undefined if no replica leads, or the Lease cannot be read. */
export async function findLeader(
  api: Pick<KubeApi, "get" | "request">,
  flags: Flags,
  signal: AbortSignal,
): Promise<Leader | undefined> {
  const namespace = flags["leader-elect-resource-namespace"];
  const orAbsent = (error: unknown): undefined => {
    if (isKubeError(error) && (error.kind === "not-found" || error.kind === "forbidden")) return undefined;
    throw error;
  };
  const name = flags["leader-elect-resource-name"];
  const lease = await api.get(leases, { namespace, name }, signal).catch(orAbsent);
  const identity = lease === undefined ? "" : holderOf(lease);
  if (identity === "") return undefined;
  const host = hostOf(identity);
  if (host === "") return { identity, address: undefined };
  const path = `/api/v1/namespaces/${namespace}/pods/${encodeURIComponent(host)}`;
  const pod = await api.request({ verb: "get", resource: "pods", path }, signal).catch(orAbsent);
  const node =
    podIPOf(pod) === undefined ? await api.get(nodes, { name: host }, signal).catch(orAbsent) : undefined;
  return { identity, address: podIPOf(pod) ?? (node && addressIn(node)) };
}

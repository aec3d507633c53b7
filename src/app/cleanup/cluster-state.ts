// What the API server says about the cluster: its Services and Nodes, whose objects in the cloud must stay, and whether a manager
// leads.

import { milliseconds, seconds } from "../../core/brand.ts";
import { defined } from "../../core/defined.ts";
import { messageOf } from "../../core/errors.ts";
import type { KubeApi } from "../../kube/client/api.ts";
import { isKubeError } from "../../kube/errors/kube-error.ts";
import { holderOf, isSameRecord } from "../../kube/leader-election/lease-record.ts";
import type { KubeObject, Lease, Node, Service } from "../../kube/objects.ts";
import { leases, nodes, type Resource, services } from "../../kube/resources.ts";
import { type Clock, sleep } from "../../platform/clock.ts";
import type { Flags } from "../flags/table.ts";

export type ClusterState =
  | {
      readonly kind: "read";
      readonly origin: string;
      readonly services: readonly Service[];
      readonly nodes: readonly Node[];
      readonly lease: Lease | undefined;
    }
  /** No server has answered: there is no connection, or no kubeconfig. */
  | { readonly kind: "unreachable"; readonly why: string };

/** What clients of an API server see if none answers. */
const silent = ["unreachable", "tls", "timeout", "configuration"] as const;

/** Throws if the API server answers, but refuses. */
export async function readCluster(
  connect: () => Promise<KubeApi>,
  flags: Flags,
  signal: AbortSignal,
): Promise<ClusterState> {
  try {
    const api = await connect();
    const [allServices, allNodes, lease] = await Promise.all([
      listAll(api, services, signal),
      listAll(api, nodes, signal),
      readLease(api, flags, signal),
    ]);
    return { kind: "read", origin: api.origin, services: allServices, nodes: allNodes, lease };
  } catch (error) {
    signal.throwIfAborted();
    if (isKubeError(error, ...silent)) return { kind: "unreachable", why: error.message };
    const needs = "cleanup needs the verb list for services and nodes, and get for the Lease of the manager";
    throw new Error(`${messageOf(error)} (${needs}; nothing was deleted)`, { cause: error });
  }
}

async function listAll<T extends KubeObject>(
  api: KubeApi,
  resource: Resource<T>,
  signal: AbortSignal,
): Promise<readonly T[]> {
  const all: T[] = [];
  let next: string | undefined;
  do {
    const page = await api.listPage(resource, defined({ limit: 500, continue: next }), signal);
    all.push(...page.items);
    next = page.continue;
  } while (next !== undefined && next !== "");
  return all;
}

async function readLease(
  api: Pick<KubeApi, "get">,
  flags: Flags,
  signal: AbortSignal,
): Promise<Lease | undefined> {
  const namespace = flags["leader-elect-resource-namespace"];
  try {
    return await api.get(leases, { namespace, name: flags["leader-elect-resource-name"] }, signal);
  } catch (error) {
    if (isKubeError(error, "not-found")) return undefined;
    throw error;
  }
}

/** The holder of the Lease, if the Lease was written since `before`. */
export function newLeader(before: Lease | undefined, now: Lease | undefined): string | undefined {
  if (now === undefined || holderOf(now) === "") return undefined;
  return before !== undefined && isSameRecord(before, now) ? undefined : holderOf(now);
}

const checkInterval = seconds(2);

/**
 * The leader: the holder that renews the Lease within its duration. The time in the Lease is not compared with this clock, as in every
 * leader election.
 */
export async function findLeadership(
  api: Pick<KubeApi, "get">,
  flags: Flags,
  lease: Lease | undefined,
  clock: Clock,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (lease === undefined || holderOf(lease) === "") return undefined;
  const duration = seconds(Math.max(1, lease.spec?.leaseDurationSeconds ?? 15));
  const end = clock.monotonic() + duration;
  while (clock.monotonic() < end) {
    await sleep(clock, milliseconds(Math.min(checkInterval, end - clock.monotonic())), signal);
    const leader = newLeader(lease, await readLease(api, flags, signal));
    if (leader !== undefined) return leader;
  }
  return undefined;
}

// The machines of a cloud: a source lists all of them page by page, and may look some up by key. The framework caches, matches
// Nodes to machines, and decides when a machine is gone.

import type { ProviderID } from "../core/brand.ts";
import type { Call } from "./call.ts";
import type { Facts } from "./plan.ts";
import type { ProviderProblem } from "./reasons.ts";

/** A type of a Node's `status.addresses`. */
export type AddressKind = "Hostname" | "InternalIP" | "ExternalIP" | "InternalDNS" | "ExternalDNS";

/** An entry of a Node's `status.addresses`. */
export interface InstanceAddress {
  readonly kind: AddressKind;
  readonly value: string;
  /** The cloud's name for the network of this address, for address policies that select by network. */
  readonly network?: string | undefined;
}

/**
 * The state of a machine.
 *
 * - `running`      includes machines that are starting
 * - `stopped`      exists but is switched off: its Node gets the shutdown taint and is never deleted. Its workloads do not continue
 * - `suspended`    like `stopped`, but its workloads may continue: it is hibernated, or only excluded from scheduling
 * - `terminating`  the cloud is deleting it: the deletion of its Node does not count against the mass limit
 */
export type InstanceState = "running" | "stopped" | "suspended" | "terminating";

/** A machine. The framework writes its id, addresses, type, region, zone and labels to the Node. */
export interface Instance {
  /** The cloud's id of the machine, unique within the source. `InstanceSource.keyOf` returns it for a provider id. */
  readonly key: string;
  /** Written to `spec.providerID`. It must never change for a machine. */
  readonly id: ProviderID;
  /** Every name under which the machine's kubelet may register; empty while the machine does not report it. */
  readonly names: readonly string[];
  /** The host name without its domain, for clouds where kubelets may register under any domain. Used by the entry `shortName` of `Instances.matchBy`. */
  readonly shortName?: string | undefined;
  /** The name shown in messages. */
  readonly title: string;
  /**
   * Every form of the machine's system UUID; compared case-insensitively. A Node with a different UUID does not get the machine by its
   * name or address.
   */
  readonly uuids?: readonly string[] | undefined;
  /** Unset if a listing does not include the state: `lookups.id` is then called for Nodes that are not Ready. */
  readonly state?: InstanceState | undefined;
  /** Ids of related objects (network port, security group) that load balancers and routes need; passed on in `Machine`. */
  readonly handles?: Facts | undefined;
  /** The addresses in the order in which the cloud's Go manager writes them. */
  readonly addresses: readonly InstanceAddress[];
  /**
   * Address families for which the Node's InternalIPs that the cloud does not report are kept, after the cloud's addresses: those
   * of the kubelet's `--node-ip`, in clouds that do not know the private network. If unset, only the cloud's addresses are written.
   */
  readonly keepsInternalIPs?: readonly ("IPv4" | "IPv6")[] | undefined;
  /** The instance type for the well-known label; empty if the cloud has none. */
  readonly type: string;
  readonly region?: string | undefined;
  readonly zone?: string | undefined;
  /** Additional labels: kept in sync under `Instances.labelPrefixes`, otherwise set only if missing. */
  readonly labels?: Readonly<Record<string, string>> | undefined;
  /**
   * The labels, tags or metadata that users of the cloud wrote on the machine, unchanged. Labels that --node-labels-from and
   * --node-taints-from select reach the Node, after all checks. Empty: it has none, so what came from it is removed. If unset, the cloud has no labels or the answer does not contain them; no label is then removed.
   */
  readonly cloudLabels?: Readonly<Record<string, string>> | undefined;
  /** Problems with this machine. An error keeps a joining Node uninitialized until it is fixed. */
  readonly problems?: readonly ProviderProblem[] | undefined;
  /**
   * The machine exists, but the cloud currently shows neither its name nor its addresses; `problems` explains why. Its Node does
   * not change, and no Node without a provider id is deleted, because this may be its machine.
   */
  readonly isUndescribed?: true | undefined;
}

/** Identifies a machine to load balancers and routes. */
export interface Machine {
  /** The name of its source. */
  readonly source: string;
  /** `Instance.key`. */
  readonly key: string;
  /** `Instance.handles`. Undefined until a listing or lookup has found the machine, for example after a start. */
  readonly handles?: Facts | undefined;
}

/**
 * A property that identifies a machine. `id` is `Instance.key`; the other keys find the machine of a Node without a provider id.
 * `shortName` is the Node's name up to its first dot, if it has one: put it after `name`.
 */
export type MatchKey = "id" | "name" | "shortName" | "uuid" | "address";

/**
 * The result of a lookup, by requested key. An empty list means that no such machine exists; a missing key means that there was
 * no answer. Several instances are ambiguous: the Node is not initialized, and a message names the candidates.
 */
export type LookupResult = ReadonlyMap<string, readonly Instance[]>;

/** Looks up machines by one kind of key. */
export interface InstanceLookup {
  /** The maximum number of keys per request. */
  readonly limit: number;
  /** Called with at most `limit` keys. */
  find(keys: readonly string[], call: Call): Promise<LookupResult>;
}

/**
 * A set of machines that is listed as a whole or fails as a whole: an account, a region, an endpoint, or one of two kinds of
 * machines. While one source fails, only the Nodes of its machines are in an unknown state.
 */
export interface InstanceSource {
  /** Unique within the cloud and shown in messages: `cloud`, `robot`, `region-1`. */
  readonly name: string;
  /**
   * Pure. The `Instance.key` for a provider id in any spelling that was ever written for this source, otherwise undefined. A
   * Node whose id no source knows is never touched. If several sources know it, it is gone only when all of them report it gone.
   */
  keyOf(providerID: string): string | undefined;
  /**
   * Lists all machines, one page per request. It must throw when a page is missing: a machine that is missing from a complete
   * listing counts as gone.
   */
  list(call: Call): AsyncIterable<readonly Instance[]>;
  /**
   * The cloud rejects a second machine with the same name in this source. If `matchBy` begins with `name`, a joining Node is then
   * initialized as soon as a page contains its machine, before the listing is complete.
   */
  readonly uniqueNames?: true | undefined;
  /**
   * The lookups that the cloud supports without a listing, by kind of key. For waiting Nodes and those of the last 10 s, the
   * framework uses them if they need fewer requests than a listing, or as many and a page of it has more than 100 machines.
   */
  readonly lookups?: Readonly<Partial<Record<MatchKey, InstanceLookup | undefined>>> | undefined;
  /**
   * Machines of this source outlive their clusters, and their name identifies their purpose. A machine then belongs to a Node
   * only while one of `Instance.names` is the Node's name; otherwise it counts as gone, after the usual proofs. This does not
   * apply to a machine that reports no names.
   */
  readonly nameDecides?: true | undefined;
  /**
   * The machines themselves report their names and addresses, for example through an agent. Such reports prove nothing, so no
   * serving certificate is approved because of them.
   */
  readonly selfReported?: true | undefined;
  /**
   * For a cloud with a low limit: the number of listings per hour, and the number of lookups per hour for checks of Nodes that
   * are not Ready. A sixth of them may be sent in a burst. Stay well below the limit, because other clients may use it.
   * Nodes without a provider id wait for this source's turn. If unset, at most one listing, or one series of lookups, per second.
   */
  readonly requestsPerHour?: number | undefined;
}

/**
 * A set of machines that the provider can neither list nor look up, such as the machines of an API without a credential. Only
 * their provider ids are known: a Node on such a machine is never initialized, changed, tainted or deleted, and gets no routes.
 * An event reports this. The Node is a load balancer target, as a `Machine` without handles.
 */
export interface UnreadableSource {
  /** See `InstanceSource`. */
  readonly name: string;
  /** See `InstanceSource`. */
  keyOf(providerID: string): string | undefined;
  /**
   * The reason, such as "which are not instances". If unset, the credentials give no access, and the status page shows a notice.
   */
  readonly because?: string | undefined;
}

/** The machines of a cloud. */
export interface Instances {
  /**
   * Usually one. With several sources, a Node without provider id waits until all of them have answered, because another source may
   * contain an instance with the same name.
   */
  readonly sources: readonly [InstanceSource, ...InstanceSource[]];
  /** Sources to which the settings give no access. No Node without provider id waits for these. */
  readonly unreadable?: readonly UnreadableSource[] | undefined;
  /** How to find the machine of a Node without a provider id, in this order; usually `["name"]`. */
  readonly matchBy: readonly MatchKey[];
  /** Labels with these prefixes belong to the provider and are kept in sync with the instance. None is ever removed. */
  readonly labelPrefixes?: readonly `${string}/`[] | undefined;
}

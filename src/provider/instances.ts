// Machines, batch first: a source lists everything it has, page by page, and may look some up by a key where the cloud
// can. Three-valued existence, matching, caching and the choice between listing and looking up belong to the framework.

import type { ProviderID } from "../core/brand.ts";
import type { Problem } from "../core/problem.ts";
import type { Call } from "./call.ts";
import type { Facts } from "./plan.ts";

export type AddressKind = "Hostname" | "InternalIP" | "ExternalIP" | "InternalDNS" | "ExternalDNS";

export interface InstanceAddress {
  readonly kind: AddressKind;
  readonly value: string;
  /** The cloud's name of the network it is in, for address policies that choose by network. */
  readonly network?: string;
}

/**
 * - `running`      also while starting: the machine exists and is meant to run
 * - `stopped`      exists, switched off: the Node gets the shutdown taint and is never deleted
 * - `terminating`  the cloud itself says that it is on its way out: its deletion does not count against the mass limit
 */
export type InstanceState = "running" | "stopped" | "terminating";

export interface Instance {
  /** The cloud's own id of it, unique within the source: what `keyOf` makes of every spelling of its provider id. */
  readonly key: string;
  /** The spelling that is written to Nodes. May never change for a machine. */
  readonly id: ProviderID;
  /** Every name under which the kubelet of this machine may register; none where the machine does not tell yet. */
  readonly names: readonly string[];
  /** Shown to people. */
  readonly title: string;
  /** Every form in which the machine may report its system UUID or serial number; compared without regard to case. */
  readonly uuids?: readonly string[];
  /** Absent where a listing does not tell: then `lookups.id` is asked, for Nodes that are not Ready. */
  readonly state?: InstanceState;
  /** Ids of its parts (network port, security group), for balancers and routes: asked once here, not once per node there. */
  readonly handles?: Facts;
  /** In the order in which the Go manager of this cloud writes them. */
  readonly addresses: readonly InstanceAddress[];
  /** Empty when the cloud has no such thing. */
  readonly type: string;
  readonly region?: string;
  readonly zone?: string;
  /** Labels under the provider's own prefix (kept in sync) and others (set if absent). */
  readonly labels?: Readonly<Record<string, string>>;
  /** What is wrong with it as seen by the cloud (renamed, wrong range); an error keeps a Node that joins waiting. */
  readonly problems?: readonly Problem[];
}

/** A machine as balancers and routes are told of it. */
export interface Machine {
  readonly source: string;
  readonly key: string;
  readonly handles?: Facts;
}

/** What can be known of a Node before it has a provider id. */
export type MatchKey = "id" | "name" | "uuid" | "address";

/**
 * What a lookup brings back, by the key that was asked. An empty list is a definite "there is none"; a key that is
 * missing from the map was not answered. More than one instance is an ambiguity, and the answer names the candidates.
 */
export type LookupResult = ReadonlyMap<string, readonly Instance[]>;

export interface InstanceLookup {
  /** At most this many keys in one request of the cloud. */
  readonly limit: number;
  find(keys: readonly string[], call: Call): Promise<LookupResult>;
}

/**
 * One set of machines that is listed as a whole or fails as a whole: an account, a region, an endpoint, or one of two
 * kinds of machine. When one source fails, only the Nodes it claims become unknown.
 */
export interface InstanceSource {
  /** Unique within the cloud; shown to people: `cloud`, `robot`, `region-1`. */
  readonly name: string;
  /**
   * Pure: the key in any spelling of a provider id that was ever written for a machine of this source, or undefined. An
   * id that no source knows is foreign: hands off. Where several know one id, it is gone only if all of them say so.
   */
  keyOf(providerID: string): string | undefined;
  /** One page per request. Throws when a page is missing; never ends early. */
  list(call: Call): AsyncIterable<readonly Instance[]>;
  /** By presence: what the cloud can look up without listing. The framework takes the cheaper way. */
  readonly lookups?: Readonly<Partial<Record<MatchKey, InstanceLookup>>>;
}

export interface Instances {
  readonly sources: readonly [InstanceSource, ...InstanceSource[]];
  /** How a Node without provider id finds its machine: the first key with an answer decides. Usually `["name"]`. */
  readonly matchBy: readonly MatchKey[];
  /** Label keys under these prefixes are the provider's: kept in sync with the instance. None is ever removed. */
  readonly labelPrefixes?: readonly `${string}/`[];
}

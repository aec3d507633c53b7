// The settings of the node controller and their defaults. Where a default differs from upstream, another value of the same
// setting is upstream's behavior.

import { type Cidr, type Milliseconds, minutes, seconds } from "../../core/brand.ts";
import type { AddressKind } from "../../provider/instances.ts";

/**
 * How a label is treated after the Node has joined. `sync`: it follows the cloud. `report`: it is set when missing, and a
 * difference is only reported. `once`: it is not changed. When a Node joins, type, zone and region are always written, as
 * upstream does, and other labels if their policy is `sync` or they are missing.
 */
export type LabelPolicy = "sync" | "report" | "once";

export interface AddressPolicy {
  /** In order of preference; empty: both, in the cloud's order. */
  readonly families: readonly ("IPv4" | "IPv6")[];
  /** Empty: every address. */
  readonly include: readonly Cidr[];
  readonly exclude: readonly Cidr[];
  readonly networks: readonly string[];
  /** The kinds that come first, in this order; other kinds follow in the cloud's order. */
  readonly order: readonly AddressKind[];
}

export interface NodeSettings {
  readonly addresses: AddressPolicy;
  readonly labelPolicies: Readonly<Record<string, LabelPolicy>>;
  /** The labels of machines that their Nodes get: keys, or prefixes that end with `*`. Their default policy is `sync`. */
  readonly labelsFrom: readonly string[];
  /** Labels of machines whose keys begin with this are taints of their Nodes. */
  readonly taintsFrom: string | undefined;
  /** Upstream overwrites a different current label with the beta label. By default Fairlead keeps a manual correction. */
  readonly preferBetaLabels: boolean;
  /** Upstream never updates labels after initialization. A policy for a label takes precedence. */
  readonly reconcileLabels: boolean;
  /** How old an observation of the instance may be when a Node joins. */
  readonly maxObservationAge: Milliseconds;
  /**
   * How long a Node with one match waits for sources that have not answered and could have another match. Undefined: as
   * long as it takes, because a provider id is never changed once written.
   */
  readonly matchTimeout: Milliseconds | undefined;
  /** Failed attempts in a row before the CloudReady condition is written. */
  readonly failuresBeforeCondition: number;
  /** The delays between lookups of an instance that is not visible yet. */
  readonly notVisibleBackoff: { readonly first: Milliseconds; readonly cap: Milliseconds };
}

export const nodeDefaults: NodeSettings = {
  addresses: { families: [], include: [], exclude: [], networks: [], order: [] },
  labelPolicies: {},
  labelsFrom: [],
  taintsFrom: undefined,
  preferBetaLabels: false,
  reconcileLabels: true,
  maxObservationAge: minutes(1),
  matchTimeout: undefined,
  failuresBeforeCondition: 3,
  notVisibleBackoff: { first: seconds(2), cap: minutes(5) },
};

// The settings of the node controller and their defaults. Where a default differs from upstream, a different value of the same
// setting selects upstream's behavior.

import { type Cidr, type Milliseconds, minutes, seconds } from "../../core/brand.ts";
import type { AddressKind } from "../../provider/instances.ts";

/**
 * How a label is treated after the Node has joined. `sync`: the label follows the cloud. `report`: a missing label is set,
 * and a difference is only reported. `once`: the label never changes. When a Node joins, type, zone and region are always
 * written, as in upstream; other labels are written if their policy is `sync` or they are missing.
 */
export type LabelPolicy = "sync" | "report" | "once";

export interface AddressPolicy {
  /** The address families in order of preference. If empty, both IP families in the cloud's order. */
  readonly families: readonly ("IPv4" | "IPv6")[];
  /** The ranges to include. If empty, every address. */
  readonly include: readonly Cidr[];
  readonly exclude: readonly Cidr[];
  readonly networks: readonly string[];
  /** The address kinds that come first, in this order; other kinds follow in the cloud's order. */
  readonly order: readonly AddressKind[];
}

export interface NodeSettings {
  readonly addresses: AddressPolicy;
  readonly labelPolicies: Readonly<Record<string, LabelPolicy>>;
  /** The machine labels that Nodes get: keys, or prefixes that end with `*`. Their default policy is `sync`. */
  readonly labelsFrom: readonly string[];
  /** Machine labels with this key prefix become taints of the Node. */
  readonly taintsFrom: string | undefined;
  /** Upstream overwrites a different current label with the beta label. By default, Fairlead keeps a manual correction. */
  readonly preferBetaLabels: boolean;
  /** Upstream never updates labels after initialization. A policy for a label takes precedence. */
  readonly reconcileLabels: boolean;
  /** The maximum age of an instance observation when a Node joins. */
  readonly maxObservationAge: Milliseconds;
  /**
   * How long a Node with one match waits for sources that may have another match and have not answered. If undefined,
   * there is no limit, because a provider id is never changed once written.
   */
  readonly matchTimeout: Milliseconds | undefined;
  /** The number of consecutive failed attempts before the CloudReady condition is written. */
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

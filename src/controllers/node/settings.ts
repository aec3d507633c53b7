// What an operator can decide about Nodes, as one value. Where a default differs from upstream's, the other value of the
// same member is upstream's behaviour.

import type { Cidr, Milliseconds } from "../../core/brand.ts";
import { minutes, seconds } from "../../core/brand.ts";
import type { AddressKind } from "../../provider/instances.ts";

/**
 * What becomes of a label after the Node has joined. `sync`: it follows the cloud. `report`: set when missing, a difference
 * is only shown. `once`: left alone. When a Node joins, type, zone and region are written whatever stands there, as upstream
 * does; of other labels those that `sync` or are missing.
 */
export type LabelPolicy = "sync" | "report" | "once";

export interface AddressPolicy {
  /** In the order of preference; empty: all, as the cloud orders them. */
  readonly families: readonly ("IPv4" | "IPv6")[];
  /** Empty: every address. */
  readonly include: readonly Cidr[];
  readonly exclude: readonly Cidr[];
  readonly networks: readonly string[];
  /** Kinds that come first, in this order; the rest follows as the cloud orders it. */
  readonly order: readonly AddressKind[];
}

export interface NodeSettings {
  readonly addresses: AddressPolicy;
  readonly labelPolicies: Readonly<Record<string, LabelPolicy>>;
  /** Upstream copies the beta label over a different current one; we leave a correction by hand alone. */
  readonly betaLabelsWin: boolean;
  /** Upstream never looks at labels again after initialisation. A policy for a label counts more. */
  readonly reconcileLabels: boolean;
  /** How old a "this is your machine" may be for a new node. */
  readonly acceptsAge: Milliseconds;
  /** Failures in a row before the Node shows a condition. */
  readonly failuresBeforeCondition: number;
  /** First and longest rest of a node whose machine the cloud does not show yet. */
  readonly notVisibleBackoff: { readonly first: Milliseconds; readonly cap: Milliseconds };
}

export const nodeDefaults: NodeSettings = {
  addresses: { families: [], include: [], exclude: [], networks: [], order: [] },
  labelPolicies: {},
  betaLabelsWin: false,
  reconcileLabels: true,
  acceptsAge: minutes(1),
  failuresBeforeCondition: 3,
  notVisibleBackoff: { first: seconds(2), cap: minutes(5) },
};

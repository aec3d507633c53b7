// The dependencies and the settings of the Node controllers. `src/app` composes the dependencies; tests use small fakes.

import type { Inventory } from "../cloud/inventory.ts";
import { type Cidr, type Milliseconds, minutes, seconds } from "../core/brand.ts";
import type { Node } from "../kube/objects.ts";
import type { Patch } from "../kube/patches/patch.ts";
import type { Clock } from "../platform/clock.ts";
import type { Random } from "../platform/random.ts";
import type { AddressKind } from "../provider/instances.ts";
import { defaultRemovalLimit, type RemovalLimitSetting } from "./absence/mass-limit.ts";
import type { ObjectStore } from "./latest-objects.ts";
import type { ObjectEvent } from "./reporter.ts";

export type NodeStore = ObjectStore<Node>;

/** Guarded writes. Each is journalled with its reason; in observe mode it is only journalled. */
export interface NodeWrites {
  /** Undefined in observe mode, where nothing is written. */
  patch(node: Node, patch: Patch, why: string, signal: AbortSignal): Promise<Node | undefined>;
  /** The API server rejects the delete if the Node was changed or replaced. Returns false in observe mode. */
  delete(node: Node, why: string, signal: AbortSignal): Promise<boolean>;
}

/** Logs a change that has no event. */
export type Note = (message: string, fields: Readonly<Record<string, string | number>>) => void;

export interface NodeDeps {
  readonly nodes: NodeStore;
  readonly writes: NodeWrites;
  readonly inventory: Inventory;
  readonly report: (node: Node, event: ObjectEvent) => void;
  readonly note: Note;
  readonly clock: Clock;
  readonly random: Random;
  /** Whether this manager's --node-selector matches the Node. */
  readonly isSelected: (node: Node) => boolean;
  readonly concurrency: () => number;
}

// The settings of the node controller and their defaults. Where a default differs from upstream, another value of the same
// setting is upstream's behavior.

/**
 * How a label is treated after the Node has joined. `sync`: it follows the cloud. `report`: it is set when missing, and a
 * difference is only reported. `once`: it is left alone. When a Node joins, type, zone and region are always written, as
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
  /** Kinds that come first, in this order; others follow in the cloud's order. */
  readonly order: readonly AddressKind[];
}

export interface NodeSettings {
  readonly addresses: AddressPolicy;
  readonly labelPolicies: Readonly<Record<string, LabelPolicy>>;
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
  preferBetaLabels: false,
  reconcileLabels: true,
  maxObservationAge: minutes(1),
  matchTimeout: undefined,
  failuresBeforeCondition: 3,
  notVisibleBackoff: { first: seconds(2), cap: minutes(5) },
};

// The settings of the node-lifecycle controller and their defaults.

export interface LifecycleSettings {
  /** `observe`: report what would be deleted. `off`: never delete. The shutdown taint is maintained in any case. */
  readonly deletion: "off" | "observe" | "enforce";
  /** The minimum time between the first and the last proof that an instance is gone. Zero: one proof is enough, as upstream. */
  readonly confirmAfter: Milliseconds;
  /** How many managed Nodes may be deleted unannounced within the window. */
  readonly removalLimit: RemovalLimitSetting;
  /**
   * A Node without provider id, or one that is not initialized, is not deleted before this age: its instance may not be
   * visible yet.
   */
  readonly minAge: Milliseconds;
  /**
   * When to remove the shutdown taint: as soon as the instance is running, or when the Node is Ready (as in
   * upstream).
   */
  readonly removeShutdownTaint: "when-running" | "when-ready";
}

export const lifecycleDefaults: LifecycleSettings = {
  deletion: "enforce",
  confirmAfter: seconds(30),
  removalLimit: defaultRemovalLimit,
  minAge: minutes(10),
  removeShutdownTaint: "when-running",
};

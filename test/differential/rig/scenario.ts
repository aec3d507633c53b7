// The structure of a scenario: steps of users, kubelets and the cloud, and the differences that they show.

import type { World } from "./world.ts";

export interface Step<W = World> {
  /** The description, such as "the user adds a port". */
  readonly what: string;
  readonly act: (world: W) => Promise<unknown> | unknown;
  /** Holds later than a short silence, for example the deletion of a Node. */
  readonly until?: (world: W) => Promise<boolean> | boolean;
}

/** A difference that a row of docs/differences.md explains. */
export interface Explained {
  /** The object and the member, with `*` for any text, such as `Service shop: event Normal EnsuredLoadBalancer*`. */
  readonly at: string;
  /** The row, such as "D42". */
  readonly row: string;
  /** Whether the profile `upstream` shows it too; by default, as the row states. */
  readonly inProfile?: boolean;
  /** True if the difference depends on the time of a retry or a listing. It then need not occur. */
  readonly isSometimes?: boolean;
}

/** Scenarios with a load balancer have these explained differences. */
export const ofEachBalancer: readonly Explained[] = [
  { at: "load balancer of *: label cluster-uid", row: "D110" },
];

export interface Scenario<W = World> {
  /** The name prefix of its Nodes and Services. */
  readonly name: string;
  readonly title: string;
  /** The steps, the first of which prepares the scenario. */
  readonly steps: readonly Step<W>[];
  readonly explained?: readonly Explained[];
}

/**
 * Scenarios whose objects do not interact: their first steps run together, then their second steps, and so on.
 * Objects that several scenarios need, such as Nodes as targets, belong to the first one.
 */
export type Batch<W = World> = readonly Scenario<W>[];

// What a scenario is: steps of users, kubelets and the cloud, and the differences that they show.

import type { World } from "./world.ts";

export interface Step<W = World> {
  /** As in "the user adds a port". */
  readonly what: string;
  readonly act: (world: W) => Promise<unknown> | unknown;
  /** Holds later than a short silence, such as the deletion of a Node. */
  readonly until?: (world: W) => Promise<boolean> | boolean;
}

/** A difference that a row of docs/differences.md explains. */
export interface Explained {
  /** The object and the member, `*` for any text, such as `Service shop: event Normal EnsuredLoadBalancer*`. */
  readonly at: string;
  /** Such as "D42". */
  readonly row: string;
  /** Whether the profile `upstream` shows it too; by default what the row says. */
  readonly inProfile?: boolean;
  /** It depends on the time of a retry or a listing, so it need not occur. */
  readonly isSometimes?: boolean;
}

/** Where a scenario has a load balancer, these differences are explained already. */
export const ofEachBalancer: readonly Explained[] = [
  { at: "load balancer of *: label cluster-uid", row: "D110" },
];

export interface Scenario<W = World> {
  /** The names of its Nodes and Services begin with it. */
  readonly name: string;
  readonly title: string;
  /** The first one prepares it. */
  readonly steps: readonly Step<W>[];
  readonly explained?: readonly Explained[];
}

/**
 * Scenarios whose objects do not touch each other: their first steps run together, then their second steps, and so on. What several of them
 * need, such as the Nodes that are targets, belongs to the first one.
 */
export type Batch<W = World> = readonly Scenario<W>[];

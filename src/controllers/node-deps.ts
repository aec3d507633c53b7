// The dependencies of the Node controllers. `src/app` composes them; tests use small fakes.

import type { Inventory } from "../cloud/inventory/instances.ts";
import type { Problem } from "../core/problem.ts";
import type { Node } from "../kube/objects.ts";
import type { Patch } from "../kube/patches/patch.ts";
import type { Clock } from "../platform/clock.ts";
import type { Random } from "../platform/random.ts";
import type { ObjectStore } from "./latest-objects.ts";
import { identityOf } from "./node-facts.ts";

export type NodeStore = ObjectStore<Node>;

/** Guarded writes. Each write is recorded in the journal with its reason; observe mode only records it. */
export interface NodeWrites {
  /** Undefined in observe mode, which writes nothing. */
  patch(node: Node, patch: Patch, why: string, signal: AbortSignal): Promise<Node | undefined>;
  /** The API server rejects the delete if the Node was changed or replaced. Returns false in observe mode. */
  delete(node: Node, why: string, signal: AbortSignal): Promise<boolean>;
}

/** Logs a change that has no event. */
export type Note = (message: string, fields: Readonly<Record<string, string | number>>) => void;

/**
 * With a provider id the selector applies too, because a second account of the same cloud may use ids of the
 * same form, or even the same ids.
 */
export const isManagedBy = (
  { inventory, isSelected }: Pick<NodeDeps, "inventory" | "isSelected">,
  node: Node,
): boolean => inventory.manages(identityOf(node)) && isSelected(node);

export interface NodeDeps {
  readonly nodes: NodeStore;
  readonly writes: NodeWrites;
  readonly inventory: Inventory;
  readonly report: (node: Node, problem: Problem) => void;
  readonly note: Note;
  readonly clock: Clock;
  readonly random: Random;
  /** Whether this manager's --node-selector matches the Node. */
  readonly isSelected: (node: Node) => boolean;
  readonly concurrency: number;
}

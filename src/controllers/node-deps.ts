// What the node controllers need from the outside, named: composed once in `app`, replaced by small fakes in tests.

import type { Inventory } from "../cloud/inventory.ts";
import type { Node } from "../kube/objects.ts";
import type { Patch } from "../kube/patches/patch.ts";
import type { Clock } from "../platform/clock.ts";
import type { Random } from "../platform/random.ts";
import type { ObjectStore } from "./latest-objects.ts";

export type NodeStore = ObjectStore<Node>;

/** Guarded writes; each is journalled with its reason, and only journalled in observe mode (then nothing comes back). */
export interface NodeWrites {
  patch(node: Node, patch: Patch, why: string, signal: AbortSignal): Promise<Node | undefined>;
  /** Refused by the server unless this very Node, unchanged, is still there. False when it was only observed. */
  delete(node: Node, why: string, signal: AbortSignal): Promise<boolean>;
}

export interface NodeEvent {
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
  /** Not worth a line of its own in the log: it only begins something whose end is told, or it is told for all at once. */
  readonly quiet?: true;
}

/** A line in the log about a change that is no event. */
export type Note = (message: string, fields: Readonly<Record<string, string | number>>) => void;

export interface NodeDeps {
  readonly nodes: NodeStore;
  readonly writes: NodeWrites;
  readonly inventory: Inventory;
  readonly report: (node: Node, event: NodeEvent) => void;
  readonly note: Note;
  readonly clock: Clock;
  readonly random: Random;
  /** Whether a Node without provider id is ours to initialise. */
  readonly isSelected: (node: Node) => boolean;
  readonly concurrency: number;
}

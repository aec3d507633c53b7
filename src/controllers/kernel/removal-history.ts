// What the mass limits remember: which Nodes, load balancers, routes and volumes were removed, or made again, because something was
// absent. Controllers depend on this interface; `RemovalMemory` implements it.

import { type Milliseconds, minutes } from "../../core/brand.ts";
import type { AccountProof } from "./account-proof.ts";

export const removalKinds = ["nodes", "load-balancers", "routes", "volumes"] as const;
export type RemovalKind = (typeof removalKinds)[number];

/** Every mass limit counts the removals of this long. */
export const removalWindow: Milliseconds = minutes(10);
export const removalWindowText = `${removalWindow / 60_000} minutes`;

/** Outlives restarts, hand-overs and reloads. An id is any stable text, such as the uid of a Node or Service. */
export interface RemovalHistory {
  /** Doubt about the account holds every kind. */
  readonly account: AccountProof;
  /**
   * Call before the removal is sent. Resolves when the ids are stored durably; recording an id again within half of the window is free. If it
   * rejects, do not remove.
   */
  record(kind: RemovalKind, ids: readonly string[]): Promise<void>;
  /**
   * Adds removals that were seen, such as deletions by another client. Those that are recorded count from now: they may have been
   * sent long after. Stored a moment later.
   */
  note(kind: RemovalKind, ids: readonly string[]): void;
  /** Whether the id was recorded and stored within the last half of the window, so that it may be removed now. */
  isStored(kind: RemovalKind, id: string): boolean;
  /** Whether this process recorded it, because it was about to remove it. */
  isOwn(kind: RemovalKind, id: string): boolean;
  /** The number of removals within the window. */
  count(kind: RemovalKind): number;
  /** Whether `count` includes this id. Such an id must not count again as a candidate. */
  has(kind: RemovalKind, id: string): boolean;
  /**
   * The removal of this id is held by the mass limit. A release covers the ids that are held at that moment. The name is for
   * people, such as `node-1` or `default/shop`.
   */
  hold(kind: RemovalKind, id: string, name: string): void;
  /** The id is no longer held: it was removed, or is needed again. */
  endHold(kind: RemovalKind, id: string): void;
  /** Nothing of this kind is held any more: the controller stops, or decides about everything again. */
  endHolds(kind: RemovalKind): void;
  /** The names of what is held. */
  held(kind: RemovalKind): readonly string[];
  /** An operator released this id: it may be removed despite the limit, and counts neither as candidate nor as removal. */
  isReleased(kind: RemovalKind, id: string): boolean;
  /** It is there again, or was made again: if it is absent later, a release from before does not cover that. */
  endRelease(kind: RemovalKind, id: string): void;
  /** What an operator must do to release a hold, for the end of a message: "kubectl …". */
  howToRelease(kind: RemovalKind): string;
  /** The listener is called when held ids were released, or the doubt about the account has changed. Returns how to unsubscribe. */
  subscribe(listener: (kind: RemovalKind) => void): () => void;
}

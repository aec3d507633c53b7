// Decides when routes are synced: after a change of a Node that concerns them, but not too soon after the last sync if another listing
// is needed. Kubelets update the status of their Node all the time, and almost none of these updates do. A full sync runs periodically.

import { type Milliseconds, milliseconds, seconds } from "../../../core/brand.ts";
import type { Node } from "../../../kube/objects.ts";
import { ipsOf, isUninitialized, networkConditionOf, podCIDRsOf } from "../../node-facts.ts";
import { isPaused } from "../../pause.ts";
import type { RouteControllerOptions, RouteSettings } from "../deps.ts";

/** The time during which changes are collected, so that a burst is one sync. */
export const batchWindow: Milliseconds = seconds(0.5);

/** The shortest interval between the starts of two syncs that list the route table because of changes. */
export const minInterval: Milliseconds = seconds(5);

type ScheduleOptions = Pick<RouteControllerOptions, "settings" | "clock" | "random">;

export class SyncSchedule {
  readonly #options: ScheduleOptions;
  #lastSync = Number.NEGATIVE_INFINITY;
  /** A leadership session starts with a full sync. */
  #fullCheckAt = Number.NEGATIVE_INFINITY;
  #isFirst = true;

  constructor(options: ScheduleOptions) {
    this.#options = options;
  }

  get isFullCheckDue(): boolean {
    return this.#options.clock.monotonic() >= this.#fullCheckAt;
  }

  /** The time to wait after a change, so that other changes join the same sync. */
  delayAfterChange(needsListing: boolean): Milliseconds {
    const sinceLast = this.#options.clock.monotonic() - this.#lastSync;
    return milliseconds(needsListing ? Math.max(batchWindow, minInterval - sinceLast) : batchWindow);
  }

  synced(began: number, knowsAllInstances: boolean): void {
    const { settings, random } = this.#options;
    // At the start the instances are not known yet; the first sync that knows them must not be delayed.
    if (!this.#isFirst || knowsAllInstances) this.#lastSync = began;
    this.#isFirst = false;
    this.#fullCheckAt = began + nextFullCheck(settings.fullCheck, random.fraction());
  }

  /** Changes wait for the one that is in progress: its end starts the next sync, however short ago the last one was. */
  continueSoon(): void {
    this.#lastSync = Number.NEGATIVE_INFINITY;
  }

  /** The delay without changes: until a backoff or a confirmation time ends, or until the next full sync. */
  delayToNext(end: number): Milliseconds {
    const at = Math.min(this.#fullCheckAt, end);
    return milliseconds(Math.max(0, at - this.#options.clock.monotonic()));
  }
}

/** The delay until the next full sync. `fraction` is random, from zero to one. */
export function nextFullCheck({ every, jitter }: RouteSettings["fullCheck"], fraction: number): Milliseconds {
  return milliseconds(Math.round(every * (1 + jitter * (2 * fraction - 1))));
}

/** Whether a change of a Node concerns its routes. */
export function isRelevantForRoutes(
  before: Node | undefined,
  after: Node | undefined,
  isSelected: (node: Node) => boolean,
): boolean {
  const known = [before, after].filter((node) => node !== undefined);
  // Without a pod range, it neither had a route nor gets one.
  if (known.every((node) => podCIDRsOf(node).length === 0)) return false;
  if (before === undefined || after === undefined) return true;
  if (routeInputs(before, isSelected) !== routeInputs(after, isSelected)) return true;
  // A kubelet or another program set the condition to True after Fairlead set it to False. Without a sync it would stay until the
  // next full sync. A foreign reason with the right status may wait: a network plugin that restores its own reason immediately
  // would cause an endless loop of writes.
  return isUnavailable(after) && !isUnavailable(before);
}

function routeInputs(node: Node, isSelected: (node: Node) => boolean): string {
  const { addresses, internalIPs } = ipsOf(node);
  return JSON.stringify([
    node.metadata.uid,
    node.spec.providerID ?? "",
    podCIDRsOf(node).map(({ text, range }) => range ?? text),
    addresses.toSorted(),
    internalIPs,
    isPaused(node),
    isUninitialized(node),
    isSelected(node),
  ]);
}

const isUnavailable = (node: Node): boolean => networkConditionOf(node)?.status === "True";

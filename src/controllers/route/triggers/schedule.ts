// Decides when routes are synced: after a relevant change of a Node, but not too soon after the last sync if another listing is
// needed. Kubelets update the status of their Node constantly, and almost none of these updates are relevant. A full sync runs
// periodically.

import { type Milliseconds, milliseconds, seconds } from "../../../core/brand.ts";
import type { Node } from "../../../kube/objects.ts";
import { ipsOf, isUninitialized, networkConditionOf, podCIDRsOf } from "../../node-facts.ts";
import { isPaused } from "../../pause.ts";
import type { RouteControllerOptions, RouteSettings } from "../deps.ts";

/** How long changes are collected, so that a burst causes one sync. */
export const batchWindow: Milliseconds = seconds(0.5);

/** The minimum interval between the starts of two syncs that list the route table because of changes. */
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

  /** How long to wait after a change, so that further changes join the same sync. */
  delayAfterChange(needsListing: boolean): Milliseconds {
    const sinceLast = this.#options.clock.monotonic() - this.#lastSync;
    return milliseconds(needsListing ? Math.max(batchWindow, minInterval - sinceLast) : batchWindow);
  }

  synced(began: number, knowsAllInstances: boolean): void {
    const { settings, random } = this.#options;
    // At the start the instances are not known yet, and the first sync with all instances must not be delayed.
    if (!this.#isFirst || knowsAllInstances) this.#lastSync = began;
    this.#isFirst = false;
    this.#fullCheckAt = began + nextFullCheck(settings.fullCheck, random.fraction());
  }

  /** Changes wait for the change that is in progress: its end starts the next sync, however recent the last sync was. */
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

/** Whether a change of a Node is relevant for its routes. */
export function isRelevantForRoutes(
  before: Node | undefined,
  after: Node | undefined,
  isSelected: (node: Node) => boolean,
): boolean {
  const known = [before, after].filter((node) => node !== undefined);
  // A Node without a pod range has no route and gets none.
  if (known.every((node) => podCIDRsOf(node).length === 0)) return false;
  if (before === undefined || after === undefined) return true;
  if (routeInputs(before, isSelected) !== routeInputs(after, isSelected)) return true;
  // A kubelet or another program set the condition to True after Fairlead set it to False. Without a sync, the condition would
  // stay until the next full sync. A foreign reason with the right status may wait, because a network plugin that restores its
  // own reason immediately would cause an endless loop of writes.
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

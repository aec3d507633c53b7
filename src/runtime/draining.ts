// Shutdown in two steps: first no new work starts; when the grace period ends, work in progress is cancelled. The
// abort reason names the step, so that any code with a signal can react to it.

import type { Milliseconds } from "../core/brand.ts";
import type { Clock } from "../platform/clock.ts";

/** The abort reason of the first step: work in progress may finish until `end` is aborted. */
export class Draining extends Error {
  readonly end: AbortSignal;

  constructor(why: string, end: AbortSignal) {
    super(why);
    this.name = "Draining";
    this.end = end;
  }
}

/** A controller for work in progress: aborted with the signal, but after a drain. The caller may abort it earlier. */
export function endOf(signal: AbortSignal): AbortController {
  const controller = new AbortController();
  const follow = (other: AbortSignal, then: () => void): void => {
    if (other.aborted) then();
    else other.addEventListener("abort", then, { once: true, signal: controller.signal });
  };
  const cancel = (reason: unknown): void => controller.abort(reason);
  follow(signal, () => {
    const { reason } = signal;
    if (reason instanceof Draining) follow(reason.end, () => cancel(reason));
    else cancel(reason);
  });
  return controller;
}

/** A signal that starts a drain when `stopRequested` is aborted. `grace` is called at that moment. */
export function drainOn(
  stopRequested: AbortSignal,
  clock: Clock,
  grace: () => Milliseconds,
  onDeadline: (grace: Milliseconds) => void,
): AbortSignal {
  const stop = new AbortController();
  const begin = (): void => {
    const end = new AbortController();
    const { reason } = stopRequested;
    stop.abort(new Draining(reason instanceof Error ? reason.message : "stop requested", end.signal));
    const period = grace();
    clock.after(period, () => {
      onDeadline(period);
      end.abort();
    });
  };
  if (stopRequested.aborted) begin();
  else stopRequested.addEventListener("abort", begin, { once: true });
  return stop.signal;
}

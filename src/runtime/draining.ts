// Ending in two steps: first nothing new is begun, then, at the latest when the grace is over, what is in hand is cut. The
// reason of an abort says which step it is, so that whatever already takes a signal takes part.

import type { Milliseconds } from "../core/brand.ts";
import type { Clock } from "../platform/clock.ts";

/** Reason of an abort that cuts nothing yet: work in hand may finish until `end` is aborted. */
export class Draining extends Error {
  readonly end: AbortSignal;

  constructor(why: string, end: AbortSignal) {
    super(why);
    this.name = "Draining";
    this.end = end;
  }
}

/** Aborted with the signal, but not before the end of a drain; whoever asked for it may abort it sooner. */
export function endOf(signal: AbortSignal): AbortController {
  const controller = new AbortController();
  const follow = (other: AbortSignal, then: () => void): void => {
    if (other.aborted) then();
    else other.addEventListener("abort", then, { once: true, signal: controller.signal });
  };
  const cut = (reason: unknown): void => controller.abort(reason);
  follow(signal, () => {
    const { reason } = signal;
    if (reason instanceof Draining) follow(reason.end, () => cut(reason));
    else cut(reason);
  });
  return controller;
}

/** From a plain wish to stop to a drain with a deadline, as long as it is meant to be at that moment. */
export function drainOn(
  desired: AbortSignal,
  clock: Clock,
  grace: () => Milliseconds,
  onDeadline: (grace: Milliseconds) => void,
): AbortSignal {
  const stop = new AbortController();
  const begin = (): void => {
    const end = new AbortController();
    const { reason } = desired;
    stop.abort(new Draining(reason instanceof Error ? reason.message : "asked to stop", end.signal));
    const given = grace();
    clock.after(given, () => {
      onDeadline(given);
      end.abort();
    });
  };
  if (desired.aborted) begin();
  else desired.addEventListener("abort", begin, { once: true });
  return stop.signal;
}

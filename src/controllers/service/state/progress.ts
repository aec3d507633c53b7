// What is remembered of every group between two rounds: what was begun, what was wished when it last settled, how long it
// waits and when it may be looked at again after an error. All of it may be lost; the cloud and the Services say the rest.

import { type Milliseconds, milliseconds, minutes, seconds } from "../../../core/brand.ts";
import type { Clock } from "../../../platform/clock.ts";
import { type Fingerprint, isSameDesired } from "../desired/fingerprint.ts";
import type { Change } from "../desired/kind-of-change.ts";

interface State {
  underWay?: Change;
  broken?: Change;
  lastDesired?: Fingerprint;
  rounds?: number;
  waitsSince?: number;
  backoffUntil?: number;
}

/** A cloud that takes long is asked ever less often: at most a tenth of the time already waited is lost. */
const patienceShare = 10;
const longestPatience: Milliseconds = seconds(30);

const quickRounds = 10;
const longestPause: Milliseconds = minutes(5);

export class Progress {
  readonly #clock: Clock;
  readonly #states = new Map<string, State>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** What was begun and has not settled yet. */
  underWay(group: string): Change | undefined {
    return this.#states.get(group)?.underWay;
  }

  change(group: string, change: Change): void {
    const state = this.#of(group);
    // What began as other targets only may come to more before it is done.
    if (state.underWay === undefined || state.underWay === "update") state.underWay = change;
    state.rounds = (state.rounds ?? 0) + 1;
  }

  /** Its steps broke off. */
  broke(group: string, change: Change): void {
    this.#of(group).broken = change;
  }

  /** What broke off in the round that just ended; asked once. */
  takeBroken(group: string): Change | undefined {
    const state = this.#of(group);
    const { broken } = state;
    delete state.broken;
    return broken;
  }

  /** Between two rounds that changed something: a plan that never comes to its end may not hammer the cloud. */
  pause(group: string): Milliseconds {
    const more = (this.#states.get(group)?.rounds ?? 0) - quickRounds;
    return more <= 0 ? milliseconds(0) : milliseconds(Math.min(longestPause, 1000 * 2 ** Math.min(more, 20)));
  }

  lastDesired(group: string): Fingerprint | undefined {
    return this.#states.get(group)?.lastDesired;
  }

  /** Nothing was wished and nothing begun since it settled: a difference then comes from the cloud. */
  isUnchanged(group: string, desired: Fingerprint): boolean {
    const { lastDesired, underWay } = this.#of(group);
    return underWay === undefined && isSameDesired(lastDesired, desired);
  }

  /** A term begins: what another replica made of later wishes meanwhile would look like somebody's work by hand. */
  begin(): void {
    for (const state of this.#states.values()) delete state.lastDesired;
  }

  settle(group: string, desired: Fingerprint): void {
    const state = this.#of(group);
    delete state.underWay;
    delete state.waitsSince;
    delete state.rounds;
    state.lastDesired = desired;
  }

  forget(group: string): void {
    this.#states.delete(group);
  }

  /** How long to wait, given what the provider asks for. */
  patience(group: string, checkAfter: Milliseconds): Milliseconds {
    const now = this.#clock.monotonic();
    const state = this.#of(group);
    state.waitsSince ??= now;
    const longer = Math.min(longestPatience, (now - state.waitsSince) / patienceShare);
    return milliseconds(Math.max(checkAfter, longer));
  }

  /** After an error: until then only a change of a Service brings it back. */
  rest(group: string, rest: Milliseconds): void {
    this.#of(group).backoffUntil = this.#clock.monotonic() + rest;
  }

  isBackingOff(group: string): boolean {
    return (this.#states.get(group)?.backoffUntil ?? Number.NEGATIVE_INFINITY) > this.#clock.monotonic();
  }

  /** A Service of it has changed. */
  touch(group: string): void {
    const state = this.#of(group);
    delete state.waitsSince;
    delete state.rounds;
  }

  #of(group: string): State {
    const known = this.#states.get(group);
    if (known !== undefined) return known;
    const made: State = {};
    this.#states.set(group, made);
    return made;
  }
}

// Leader election on a Lease, compatible with client-go: takes it when it is free by local observation, renews it, and can
// prove at any moment that it is still ours. Losing it calls back and goes on; what to stop is for others.

import { type Milliseconds, milliseconds, seconds } from "../../core/brand.ts";
import { type Clock, sleep } from "../../platform/clock.ts";
import type { Random } from "../../platform/random.ts";
import { abortable, linkedController } from "../../runtime/abortable.ts";
import type { KubeApi } from "../client/api.ts";
import { isKubeError } from "../errors/kube-error.ts";
import type { Lease } from "../objects.ts";
import { leases } from "../resources.ts";
import { heldSpec, holderOf, isSameRecord, releasedSpec } from "./lease-record.ts";

export interface LeaderElectionOptions {
  /** In the reserved lane and without a write gate. */
  readonly api: KubeApi;
  readonly clock: Clock;
  readonly random: Random;
  readonly namespace: string;
  readonly name: string;
  readonly identity: string;
  readonly leaseDuration?: Milliseconds;
  readonly renewDeadline?: Milliseconds;
  readonly retryPeriod?: Milliseconds;
  readonly onAcquired: () => void;
  readonly onLost: (reason: string) => void;
  /** It was ours, and the next one need not wait for its end. */
  readonly onReleased?: () => void;
  /** Somebody else, or nobody (""), holds it now. */
  readonly onHolder?: (identity: string) => void;
  /** A renewal had to look at the Lease first, because somebody else had written. */
  readonly onSlowPath?: () => void;
  /** An attempt failed; the next one comes by itself. */
  readonly onProblem?: (error: unknown) => void;
}

interface Moment {
  readonly monotonic: number;
  readonly wall: number;
}

/** What is wrong with the timing, in client-go's terms; undefined when nothing is. */
export function electionTimingProblem(
  leaseDuration: Milliseconds,
  renewDeadline: Milliseconds,
  retryPeriod: Milliseconds,
): string | undefined {
  if (leaseDuration < 1000) return "The lease duration must be at least 1 s.";
  if (leaseDuration <= renewDeadline) return "The lease duration must be longer than the renew deadline.";
  if (renewDeadline <= retryPeriod * 1.2) return "The renew deadline must be longer than 1.2 retry periods.";
  return retryPeriod > 0 ? undefined : "The retry period must be longer than nothing.";
}

export class LeaderElection {
  readonly #options: LeaderElectionOptions;
  readonly #duration: Milliseconds;
  readonly #renewDeadline: Milliseconds;
  readonly #retryPeriod: Milliseconds;
  #observed: { readonly lease: Lease; readonly at: number } | undefined;
  /** When the last renewal that succeeded was sent: nobody can have seen it earlier. */
  #proof: Moment | undefined;
  #wake: (() => void) | undefined;
  #isNudged = false;

  constructor(options: LeaderElectionOptions) {
    const { leaseDuration = seconds(15), renewDeadline = seconds(10), retryPeriod = seconds(2) } = options;
    const problem = electionTimingProblem(leaseDuration, renewDeadline, retryPeriod);
    if (problem !== undefined) throw new RangeError(problem);
    if (options.identity === "") throw new RangeError("The identity for leader election must not be empty.");
    this.#options = options;
    this.#duration = leaseDuration;
    this.#renewDeadline = renewDeadline;
    this.#retryPeriod = retryPeriod;
  }

  get holder(): string | undefined {
    return this.#observed === undefined ? undefined : holderOf(this.#observed.lease);
  }

  get uid(): string | undefined {
    return this.#observed?.lease.metadata.uid;
  }

  /** Wrong only while we hold it by our own word and it has been over for longer than the tolerance, as upstream. */
  health(tolerance: Milliseconds): string | undefined {
    const age = this.age();
    return age !== undefined && age > this.#duration + tolerance
      ? `failed election to renew leadership on lease ${this.#options.name}`
      : undefined;
  }

  /** Since the last proof, by whichever clock says more; undefined while it is not ours. */
  age(): Milliseconds | undefined {
    const { clock } = this.#options;
    if (this.#proof === undefined) return undefined;
    return milliseconds(Math.max(clock.monotonic() - this.#proof.monotonic, clock.now() - this.#proof.wall));
  }

  isHeld(): boolean {
    return this.mayWrite(milliseconds(0)) === true;
  }

  /** Whether a write handed over now reaches its target, within the margin, while the lease cannot have expired. */
  mayWrite(margin: Milliseconds): true | { readonly reason: string } {
    const age = this.age();
    if (age === undefined) return { reason: `the lease ${this.#options.name} is not ours.` };
    if (age + margin < this.#duration) return true;
    return {
      reason: `the lease ${this.#options.name} was last renewed ${Math.round(age / 1000)} s ago and may have expired.`,
    };
  }

  /** Makes a waiting candidate look at once: somebody saw the lease change. */
  nudge(): void {
    // An attempt under way may have looked before the change: it is followed by another one.
    this.#isNudged = true;
    this.#wake?.();
  }

  /** Takes part until aborted, over any number of terms, and then gives the lease up. Stop the work before. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#acquire(signal);
      if (signal.aborted) break;
      this.#options.onAcquired();
      const reason = await this.#hold(signal);
      if (reason === undefined) break;
      this.#proof = undefined;
      this.#options.onLost(reason);
    }
    await this.#release();
  }

  async #acquire(signal: AbortSignal): Promise<void> {
    const { random, clock } = this.#options;
    while (!signal.aborted) {
      this.#isNudged = false;
      if (await this.#tried(this.#requestLimit(), signal)) return;
      if (this.#isNudged) continue;
      const pause = milliseconds(this.#retryPeriod * (1 + random.fraction() * 1.2));
      const { controller, unlink } = linkedController(signal);
      this.#wake = () => controller.abort();
      await sleep(clock, pause, controller.signal).catch(() => {});
      this.#wake = undefined;
      unlink();
    }
  }

  /** Returns why it was lost, or undefined when the signal ended it. */
  async #hold(signal: AbortSignal): Promise<string | undefined> {
    const { clock, identity } = this.#options;
    for (;;) {
      const left = (): number =>
        this.#renewDeadline - (clock.monotonic() - (this.#proof?.monotonic ?? Number.NEGATIVE_INFINITY));
      await sleep(clock, milliseconds(Math.max(0, Math.min(this.#retryPeriod, left()))), signal).catch(
        () => {},
      );
      if (signal.aborted) return undefined;
      const limit = milliseconds(Math.min(this.#requestLimit(), left()));
      if (limit > 0 && (await this.#tried(limit, signal))) continue;
      if (signal.aborted) return undefined;
      if (this.holder !== identity) return `the lease is now held by ${JSON.stringify(this.holder ?? "")}.`;
      if (left() <= 0) return `the lease was not renewed within ${this.#renewDeadline / 1000} s.`;
    }
  }

  #requestLimit(): Milliseconds {
    return milliseconds(Math.max(1000, this.#renewDeadline / 2));
  }

  /** One attempt that ends in time whatever it waits for; failures are told and count as "no". */
  async #tried(limit: Milliseconds, signal: AbortSignal): Promise<boolean> {
    const { controller, unlink } = linkedController(signal);
    const cancel = this.#options.clock.after(limit, () =>
      controller.abort(new DOMException(`The attempt took longer than ${limit / 1000} s.`, "TimeoutError")),
    );
    try {
      return await abortable(this.#attempt(controller.signal), controller.signal);
    } catch (error) {
      if (!signal.aborted) this.#options.onProblem?.(error);
      return false;
    } finally {
      // An answer that comes after this must not count: the attempt is over.
      controller.abort();
      cancel();
      unlink();
    }
  }

  async #attempt(signal: AbortSignal): Promise<boolean> {
    const { api, namespace, name, identity } = this.#options;
    if (this.#proof !== undefined && this.#observed !== undefined && this.holder === identity) {
      try {
        return await this.#write(this.#observed.lease, signal);
      } catch (error) {
        // Somebody wrote, or our last write landed without our knowing: look.
        if (!isKubeError(error, "conflict", "not-found")) throw error;
        this.#options.onSlowPath?.();
      }
    }
    try {
      this.#observe(await api.get(leases, { namespace, name }, signal), signal);
    } catch (error) {
      if (!isKubeError(error, "not-found")) throw error;
      return this.#create(signal);
    }
    if (this.#observed === undefined || this.#isHeldByOther()) return false;
    try {
      return await this.#write(this.#observed.lease, signal);
    } catch (error) {
      if (isKubeError(error, "conflict", "not-found")) return false;
      throw error;
    }
  }

  #isHeldByOther(): boolean {
    const { clock, identity } = this.#options;
    if (this.#observed === undefined) return false;
    const { lease, at } = this.#observed;
    const holder = holderOf(lease);
    if (holder === "" || holder === identity) return false;
    return clock.monotonic() < at + (lease.spec?.leaseDurationSeconds ?? 0) * 1000;
  }

  async #create(signal: AbortSignal): Promise<boolean> {
    const { api, namespace, name, identity, clock } = this.#options;
    const sent = this.#now();
    const spec = heldSpec(undefined, identity, this.#duration, clock.now());
    try {
      const lease = await api.create(leases, { metadata: { namespace, name }, spec }, signal);
      return this.#prove(lease, sent, signal);
    } catch (error) {
      if (isKubeError(error, "already-exists", "conflict")) return false;
      throw error;
    }
  }

  async #write(lease: Lease, signal: AbortSignal): Promise<boolean> {
    const { api, identity, clock } = this.#options;
    const sent = this.#now();
    // One that somebody made without content has been nobody's: ours is a transition, as with client-go.
    const spec = heldSpec(lease.spec ?? {}, identity, this.#duration, clock.now());
    return this.#prove(await api.replace(leases, { ...lease, spec }, signal), sent, signal);
  }

  #now(): Moment {
    const { clock } = this.#options;
    return { monotonic: clock.monotonic(), wall: clock.now() };
  }

  #prove(lease: Lease, sent: Moment, signal: AbortSignal): boolean {
    signal.throwIfAborted();
    this.#observe(lease, signal);
    this.#proof = sent;
    return true;
  }

  #observe(lease: Lease, signal: AbortSignal): void {
    signal.throwIfAborted();
    const before = this.#observed;
    const isSame = before !== undefined && isSameRecord(before.lease, lease);
    this.#observed = { lease, at: isSame ? before.at : this.#options.clock.monotonic() };
    if (before === undefined || holderOf(before.lease) !== holderOf(lease)) {
      this.#options.onHolder?.(holderOf(lease));
    }
  }

  /** A replica that waits need not sit out the duration. Whether it works or not, we are no leader from here on. */
  async #release(): Promise<void> {
    const { api, clock, namespace, name, identity } = this.#options;
    let lease = this.#proof === undefined ? undefined : this.#observed?.lease;
    this.#proof = undefined;
    const controller = new AbortController();
    const { signal } = controller;
    const cancel = clock.after(seconds(2), () => controller.abort());
    try {
      while (lease !== undefined && holderOf(lease) === identity) {
        try {
          const spec = releasedSpec(lease.spec, clock.now());
          await abortable(api.replace(leases, { ...lease, spec }, signal), signal);
          this.#options.onReleased?.();
          return;
        } catch (error) {
          // A renewal that was cut off has landed all the same, or somebody else wrote: look, and try again.
          if (!isKubeError(error, "conflict")) throw error;
          lease = await abortable(api.get(leases, { namespace, name }, signal), signal);
        }
      }
    } catch (error) {
      this.#options.onProblem?.(error);
    } finally {
      cancel();
    }
  }
}

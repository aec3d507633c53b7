// The Lease of a leader election, compatible with client-go: acquires it when it has expired by local observation, renews and
// releases it, and knows at any moment whether this replica still holds it.

import { type Milliseconds, milliseconds, seconds } from "../../core/brand.ts";
import type { Clock } from "../../platform/clock.ts";
import { abortable } from "../../runtime/abortable.ts";
import type { KubeApi } from "../client/api.ts";
import { isKubeError } from "../errors/kube-error.ts";
import { isNewer, type Lease, type ObjectMeta } from "../objects.ts";
import { leases } from "../resources.ts";
import { annotate, type LeaseAnnotations, noAnnotations } from "./lease-annotations.ts";
import { heldSpec, holderOf, isSameRecord, releasedSpec } from "./lease-record.ts";

export interface LeaseLockOptions {
  /** The client in the reserved lane, without a write gate. */
  readonly api: KubeApi;
  readonly clock: Clock;
  readonly namespace: string;
  readonly name: string;
  readonly identity: string;
  readonly annotations?: LeaseAnnotations;
  /** Whether this replica may take a free Lease; true if unset. */
  readonly mayLead?: () => boolean;
  /** Called when the holder changes; "" when no replica holds it. */
  readonly onHolder?: (identity: string) => void;
  /** Called when a renewal must read the Lease first, because another client wrote it. */
  readonly onSlowPath?: () => void;
  /** Called when another client has deleted the held Lease, and this replica has created it again. */
  readonly onRecreated?: () => void;
}

type NewMeta = Partial<ObjectMeta> & { readonly name: string };

interface Moment {
  readonly monotonic: number;
  readonly wall: number;
}

const releaseTimeout = seconds(2);

export class LeaseLock {
  readonly #options: LeaseLockOptions;
  readonly #duration: Milliseconds;
  readonly #annotations: LeaseAnnotations;
  #observed: { readonly lease: Lease; readonly at: number } | undefined;
  /** When the last successful renewal was sent: no other replica can have seen the renewal earlier. */
  #proof: Moment | undefined;
  #isRestored = false;

  constructor(options: LeaseLockOptions, duration: Milliseconds) {
    this.#options = options;
    this.#duration = duration;
    this.#annotations = options.annotations ?? noAnnotations;
  }

  /** The lock's name in messages. */
  get key(): string {
    return `${this.#options.namespace}/${this.#options.name}`;
  }

  get holder(): string | undefined {
    return this.#observed === undefined ? undefined : holderOf(this.#observed.lease);
  }

  /**
   * Whether the Lease is older than this replica wrote it: the API server was restored from a backup, and may lack other writes.
   * Reset by `forfeit`.
   */
  get isRestored(): boolean {
    return this.#isRestored;
  }

  /** The Lease as this replica last read or wrote it. */
  get lease(): Lease | undefined {
    return this.#observed?.lease;
  }

  /** Time since the last proof by the monotonic clock; infinite while this replica does not hold the Lease. */
  get sinceProof(): number {
    const { clock } = this.#options;
    return clock.monotonic() - (this.#proof?.monotonic ?? Number.NEGATIVE_INFINITY);
  }

  /** Time since the last proof, by whichever clock shows more; undefined while this replica does not hold the Lease. */
  age(): Milliseconds | undefined {
    if (this.#proof === undefined) return undefined;
    return milliseconds(Math.max(this.sinceProof, this.#options.clock.now() - this.#proof.wall));
  }

  /** Whether a write that is sent now arrives, including the margin, before the Lease can expire. */
  mayWrite(margin: Milliseconds): true | { readonly reason: string } {
    const age = this.age();
    if (age === undefined) return { reason: `this replica does not hold the Lease ${this.key}.` };
    if (age + margin < this.#duration) return true;
    return {
      reason: `the Lease ${this.key} was last renewed ${Math.round(age / 1000)}s ago and may have expired.`,
    };
  }

  /** A single attempt to acquire or renew the Lease. */
  async tryHold(signal: AbortSignal): Promise<boolean> {
    const { api, namespace, name, identity, onSlowPath } = this.#options;
    if (this.#proof !== undefined && this.#observed !== undefined && this.holder === identity) {
      try {
        return await this.#write(this.#observed.lease, signal);
      } catch (error) {
        // Another client wrote the Lease, or the last write succeeded without a response, so the Lease must be read.
        if (!isKubeError(error, "conflict", "not-found")) throw error;
        onSlowPath?.();
      }
    }
    try {
      const lease = await api.get(leases, { namespace, name }, signal);
      this.#isRestored ||= this.#proof !== undefined && this.#isOlder(lease);
      this.#observe(lease, signal);
      this.#annotations.read?.(lease);
      if (this.#isRestored) return false;
    } catch (error) {
      if (!isKubeError(error, "not-found")) throw error;
      return this.#mayTake() && this.#create(signal);
    }
    if (this.#observed === undefined || this.#isHeldByOther() || !this.#mayTake()) return false;
    try {
      return await this.#write(this.#observed.lease, signal);
    } catch (error) {
      if (isKubeError(error, "conflict", "not-found")) return false;
      throw error;
    }
  }

  /** From now on, this replica does not hold the Lease. */
  forfeit(): void {
    this.#proof = undefined;
    this.#isRestored = false;
  }

  /**
   * Gives up the Lease and clears the holder, so that the next replica need not wait until it expires. Returns whether the Lease
   * was held and is now free.
   */
  async release(): Promise<boolean> {
    const { api, clock, namespace, name, identity } = this.#options;
    let lease = this.#proof === undefined ? undefined : this.#observed?.lease;
    this.forfeit();
    const controller = new AbortController();
    const { signal } = controller;
    const cancel = clock.after(releaseTimeout, () => controller.abort());
    try {
      while (lease !== undefined && holderOf(lease) === identity) {
        try {
          const spec = releasedSpec(lease.spec, clock.now());
          const metadata = annotate(lease.metadata, this.#annotations.next(lease, "release").values);
          await abortable(api.replace(leases, { ...lease, metadata, spec }, signal), signal);
          return true;
        } catch (error) {
          // An aborted renewal may have succeeded, or another client wrote the Lease, so it is read and the attempt repeated.
          if (!isKubeError(error, "conflict")) throw error;
          lease = await abortable(api.get(leases, { namespace, name }, signal), signal);
        }
      }
      return false;
    } finally {
      cancel();
    }
  }

  #mayTake(): boolean {
    return this.#proof !== undefined || (this.#options.mayLead?.() ?? true);
  }

  #isOlder({ metadata }: Lease): boolean {
    const before = this.#observed?.lease.metadata;
    return before?.uid === metadata.uid && isNewer(before.resourceVersion, metadata.resourceVersion);
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
    // If the Lease was deleted, the count of transitions continues.
    const spec = heldSpec(this.#observed?.lease.spec, identity, this.#duration, clock.now());
    const { values, onStored } = this.#annotations.next(undefined, "hold");
    try {
      const metadata = annotate<NewMeta>({ namespace, name }, values);
      const wasHeld = this.#proof !== undefined;
      const created = await api.create(leases, { metadata, spec }, signal);
      const isHeld = this.#prove(created, sent, onStored, signal);
      if (wasHeld) this.#options.onRecreated?.();
      return isHeld;
    } catch (error) {
      if (isKubeError(error, "already-exists", "conflict")) return false;
      throw error;
    }
  }

  async #write(lease: Lease, signal: AbortSignal): Promise<boolean> {
    const { api, identity, clock } = this.#options;
    const sent = this.#now();
    // Taking a Lease without a spec counts as a transition, as in client-go.
    const spec = heldSpec(lease.spec ?? {}, identity, this.#duration, clock.now());
    const { values, onStored } = this.#annotations.next(lease, "hold");
    const metadata = annotate(lease.metadata, values);
    return this.#prove(
      await api.replace(leases, { ...lease, metadata, spec }, signal),
      sent,
      onStored,
      signal,
    );
  }

  #now(): Moment {
    const { clock } = this.#options;
    return { monotonic: clock.monotonic(), wall: clock.now() };
  }

  #prove(lease: Lease, sent: Moment, onStored: () => void, signal: AbortSignal): boolean {
    signal.throwIfAborted();
    this.#observe(lease, signal);
    this.#proof = sent;
    onStored();
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
}

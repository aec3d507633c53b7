// Keeps the machines of one source: the last complete listing, newer lookups, and the last failure. Queries are collected
// briefly and answered together (`plan-queries.ts`).

import type { Clock } from "../../platform/clock.ts";
import type { Urgency } from "../../provider/call.ts";
import type { Instance, InstanceSource, MatchKey } from "../../provider/instances.ts";
import { type Complete, Snapshot } from "../../runtime/snapshot.ts";
import { type InstanceIndex, indexInstances, type KeyAnswer } from "./instance-index.ts";
import type { SourceKeys } from "./lookup-batches.ts";
import { LookupCache } from "./lookup-cache.ts";
import { type NodeIdentity, sourceKeyOf } from "./node-identity.ts";
import { type InventoryQuery, planQueries, type QueryOptions, type QueryPlan } from "./plan-queries.ts";
import { QueryPace } from "./query-pace.ts";

export interface SourceFailure {
  /** The source's name. */
  readonly source: string;
  readonly error: unknown;
  readonly at: number;
  /** The time of the first consecutive failure. */
  readonly since: number;
}

/** Messages name the source if there are several. */
export const ofSource = (text: string, source: string, { length }: readonly unknown[]): string =>
  length > 1 ? `Source ${source} did not answer: ${text}` : text;

export interface SourceInventoryOptions {
  readonly source: InstanceSource;
  readonly matchBy: readonly MatchKey[];
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Called when new answers are available; `listing` when any answer may have changed. */
  readonly onUpdate: (kind: "listing" | "lookup" | "failure") => void;
  /** Called with each page of a running listing whose machines already answer queries by name. */
  readonly onPage?: ((page: readonly Instance[]) => void) | undefined;
}

interface Indexed {
  readonly of: Complete<Instance>;
  readonly index: InstanceIndex;
  readonly undescribed: Instance | undefined;
}

export class SourceInventory {
  readonly source: InstanceSource;
  readonly #options: SourceInventoryOptions;
  readonly #snapshot: Snapshot<Instance>;
  readonly #keys: SourceKeys;
  readonly #lookups: LookupCache;
  readonly #running = new RunningListing();
  #index: Indexed | undefined;
  readonly #pace: QueryPace;
  #queries: InventoryQuery[] = [];
  #isAnswering = false;
  /** The urgency of the queries that are being answered. */
  #urgency: Urgency = "refresh";
  #failure: SourceFailure | undefined;

  constructor(options: SourceInventoryOptions) {
    this.#options = options;
    this.source = options.source;
    this.#pace = new QueryPace(options.source.requestsPerHour);
    this.#keys = { keyOf: (providerID) => this.keyOf(providerID), matchBy: options.matchBy };
    this.#lookups = new LookupCache(options.source, options.clock);
    this.#snapshot = new Snapshot({
      clock: options.clock,
      signal: options.signal,
      list: (signal) => this.source.list({ signal, urgency: this.#urgency }),
      keyOf: ({ key }) => key,
      onPage: (page, beganAt) => this.#addPage(page, beganAt),
    });
  }

  keyOf(providerID: string): string | undefined {
    return sourceKeyOf(this.source, providerID);
  }

  get latest(): Complete<Instance> | undefined {
    return this.#snapshot.latest;
  }

  /** The failure of the last attempt; undefined after a success. */
  get failure(): SourceFailure | undefined {
    return this.#failure;
  }

  /** A machine in the last listing whose name the cloud did not show. */
  get undescribed(): Instance | undefined {
    return this.#currentIndex()?.undescribed;
  }

  /** The latest answer for this key; undefined before the first answer. */
  answer(by: MatchKey, value: string): KeyAnswer | undefined {
    const complete = this.#completeAnswer(by, value);
    const running = by === "name" ? this.#running.find(value) : undefined;
    if (running === undefined || complete === undefined) return running ?? complete;
    // A name that was ambiguous stays ambiguous until a complete listing shows otherwise.
    const isNewer = running.asOf > complete.asOf && complete.instances.length < 2;
    return isNewer ? running : complete;
  }

  #completeAnswer(by: MatchKey, value: string): KeyAnswer | undefined {
    const found = this.#lookups.answer(by, value);
    if (found !== undefined) return found;
    const latest = this.#currentIndex();
    if (latest === undefined) return undefined;
    return { instances: latest.index[by].get(value) ?? [], asOf: latest.of.beganAt, proof: "listing" };
  }

  /** Adds a query about one Node, or for a listing of everything. `onUpdate` reports when it was answered. */
  request(identity: NodeIdentity | undefined, options: QueryOptions): void {
    this.#queries.push({ ...options, identity });
    if (this.#isAnswering) return;
    this.#isAnswering = true;
    this.#scheduleAnswer();
  }

  /** Queries that arrive until then, or during a request, share the next request. */
  #scheduleAnswer(): void {
    const { clock } = this.#options;
    clock.after(this.#pace.collectFor(clock.monotonic()), () => void this.#answerQueries());
  }

  async #answerQueries(): Promise<void> {
    if (this.#options.signal.aborted) return;
    const queries = this.#queries;
    this.#queries = [];
    try {
      await this.#answerAll(queries);
      this.#failure = undefined;
    } catch (error) {
      if (this.#options.signal.aborted) return;
      const at = this.#options.clock.monotonic();
      this.#failure = { source: this.source.name, error, at, since: this.#failure?.since ?? at };
      this.#options.onUpdate("failure");
    }
    if (this.#queries.length > 0) this.#scheduleAnswer();
    else this.#isAnswering = false;
  }

  async #answerAll(queries: readonly InventoryQuery[]): Promise<void> {
    const { onUpdate, signal, clock } = this.#options;
    const now = clock.monotonic();
    const { urgency, listSince, batches } = this.#plan(queries, now);
    this.#urgency = urgency;
    if (listSince !== undefined || batches.length > 0) this.#pace.begin(now);
    if (listSince !== undefined) {
      this.#pace.noteListing();
      const { beganAt } = await this.#snapshot.beganAfter(listSince).finally(() => this.#running.clear());
      this.#lookups.forgetOlderThan(beganAt);
      // Reported before the lookups, because they may fail.
      onUpdate("listing");
    }
    this.#pace.noteLookups(batches, now);
    await this.#lookups.find(batches, { signal, urgency });
    // Only a Node that was not found by its strongest key needs a weaker key.
    const free = queries.filter(({ method }) => method === undefined);
    for (let next = batches; next.length > 0; await this.#lookups.find(next, { signal, urgency }))
      next = this.#plan(free, now).batches;
    // Reported even without a request, because the queries were answered while they waited, and their callers must be notified.
    if (listSince === undefined || batches.length > 0) onUpdate("lookup");
  }

  #plan(queries: readonly InventoryQuery[], now: number): QueryPlan {
    return planQueries(queries, {
      keys: this.#keys,
      lookups: this.source.lookups,
      nameDecides: this.source.nameDecides,
      latest: this.#snapshot.latest,
      answer: (by, value) => this.answer(by, value),
      recentLookups: this.#pace.recentLookups(now),
    });
  }

  /** Where names are unique and no stronger key decides, later pages cannot contain a second match. */
  #addPage(page: readonly Instance[], beganAt: number): void {
    const { matchBy, onPage } = this.#options;
    if (this.source.uniqueNames !== true || matchBy[0] !== "name") return;
    this.#running.add(page, beganAt);
    onPage?.(page);
  }

  #currentIndex(): Indexed | undefined {
    const latest = this.#snapshot.latest;
    if (latest === undefined) return undefined;
    if (this.#index?.of !== latest) {
      const undescribed = latest.items.find(({ isUndescribed }) => isUndescribed);
      this.#index = { of: latest, index: indexInstances(latest.items, this.#options.matchBy), undescribed };
    }
    return this.#index;
  }
}

/**
 * The machines of a listing that is still running, by name. A machine on a page exists, but only the complete listing can prove
 * that a machine does not exist.
 */
class RunningListing {
  readonly #byName = new Map<string, Instance>();
  /** Names that several machines share; only the complete listing decides about these. */
  readonly #ambiguous = new Set<string>();
  #beganAt = 0;

  add(page: readonly Instance[], beganAt: number): void {
    this.#beganAt = beganAt;
    for (const instance of page) {
      for (const name of instance.names) {
        const known = this.#byName.get(name);
        if (known !== undefined && known.key !== instance.key) this.#ambiguous.add(name);
        this.#byName.set(name, instance);
      }
    }
  }

  /** Called when the listing is complete or has failed. */
  clear(): void {
    this.#byName.clear();
    this.#ambiguous.clear();
  }

  find(name: string): KeyAnswer | undefined {
    const instance = this.#ambiguous.has(name) ? undefined : this.#byName.get(name);
    return instance && { instances: [instance], asOf: this.#beganAt, proof: "listing" };
  }
}

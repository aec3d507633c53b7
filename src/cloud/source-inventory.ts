// What one source has, as far as we know it: the last complete listing, answers to lookups since then, and what went
// wrong last. Questions are gathered for a moment and answered together, by the cheaper of listing and looking up.

import { type Milliseconds, milliseconds } from "../core/brand.ts";
import type { Call, Urgency } from "../provider/call.ts";
import { CloudError } from "../provider/errors.ts";
import type { Found, Instance, InstanceSource, MatchKey } from "../provider/instances.ts";
import { type Complete, Snapshot } from "../runtime/snapshot.ts";
import type { Clock } from "../seams/clock.ts";
import { type NodeIdentity, valuesOf } from "./identity.ts";
import { type InstanceIndex, indexInstances, keysOf } from "./instance-index.ts";
import { type Batch, batchesFor, chooseWay, type SourceKeys, type Way } from "./lookup-or-list.ts";
import { reuseInstances } from "./reuse-instances.ts";
import { mostUrgent } from "./urgency.ts";

export interface KeyAnswer {
  readonly instances: readonly Instance[];
  /** When the request that says so began, monotonic. */
  readonly asOf: number;
  readonly proof: "listing" | "lookup";
}

export interface SourceFailure {
  readonly error: unknown;
  readonly at: number;
}

/** What an answer must be like. */
export interface Want {
  /** "There is none" counts only from a request that began at or after this. */
  readonly since: number;
  /** "There it is" may be older than that, down to this. */
  readonly foundSince?: number;
  readonly urgency: Urgency;
  /** A second, independent proof is wanted: this way and no other. Absent: the cheaper one. */
  readonly way?: Way["kind"];
}

interface Question extends Want {
  /** Absent: everything. */
  readonly identity: NodeIdentity | undefined;
}

export interface SourceInventoryOptions {
  readonly source: InstanceSource;
  readonly matchBy: readonly MatchKey[];
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Something is known now that was not before; `listing` when everything may have changed. */
  readonly onNews: (kind: "listing" | "lookup" | "failure") => void;
}

const gathering: Milliseconds = milliseconds(10);
export class SourceInventory {
  readonly #options: SourceInventoryOptions;
  readonly #snapshot: Snapshot<Instance>;
  readonly #keys: SourceKeys;
  readonly #lookedUp = new Map<string, KeyAnswer>();
  #index: { readonly of: Complete<Instance>; readonly index: InstanceIndex } | undefined;
  #questions: Question[] = [];
  #isAsking = false;
  #urgency: Urgency = "refresh";
  #failure: SourceFailure | undefined;

  constructor(options: SourceInventoryOptions) {
    this.#options = options;
    this.#keys = { keyOf: (providerID) => this.keyOf(providerID), matchBy: options.matchBy };
    this.#snapshot = new Snapshot({
      clock: options.clock,
      signal: options.signal,
      list: (signal) => options.source.list({ signal, urgency: this.#urgency }),
      reuse: reuseInstances,
    });
  }

  get source(): InstanceSource {
    return this.#options.source;
  }

  /** Anything may stand on a Node: an id on which the provider stumbles is none of its own. */
  keyOf(providerID: string): string | undefined {
    try {
      return this.#options.source.keyOf(providerID);
    } catch {
      return undefined;
    }
  }

  get latest(): Complete<Instance> | undefined {
    return this.#snapshot.latest;
  }

  /** Of the last attempt; undefined once one has succeeded since. */
  get failure(): SourceFailure | undefined {
    return this.#failure;
  }

  /** The newest that is known under this key; undefined when nobody asked yet. */
  answer(by: MatchKey, value: string): KeyAnswer | undefined {
    const lookedUp = this.#lookedUp.get(`${by}:${value}`);
    if (lookedUp !== undefined) return lookedUp;
    const latest = this.#currentIndex();
    if (latest === undefined) return undefined;
    return { instances: latest.index[by].get(value) ?? [], asOf: latest.of.beganAt, proof: "listing" };
  }

  /** Asks about one Node, or for a listing of everything. News comes by `onNews`. */
  want(identity: NodeIdentity | undefined, want: Want): void {
    this.#questions.push({ ...want, identity });
    if (this.#isAsking) return;
    this.#isAsking = true;
    this.#options.clock.after(gathering, () => void this.#ask());
  }

  async #ask(): Promise<void> {
    while (this.#questions.length > 0 && !this.#options.signal.aborted) {
      const questions = this.#questions;
      this.#questions = [];
      try {
        await this.#answerAll(questions);
        this.#failure = undefined;
      } catch (error) {
        if (this.#options.signal.aborted) break;
        this.#failure = { error, at: this.#options.clock.monotonic() };
        this.#options.onNews("failure");
      }
    }
    this.#isAsking = false;
  }

  async #answerAll(asked: readonly Question[]): Promise<void> {
    const { source, onNews } = this.#options;
    const keys = this.#keys;
    // Much of what was asked while a listing was under way has been answered by it.
    const questions = asked.filter((question) => !this.#isFound(question));
    if (questions.length === 0) {
      onNews("lookup");
      return;
    }
    this.#urgency = mostUrgent(questions);
    const since = Math.max(...questions.map((question) => question.since));
    const free = questions.filter(({ way }) => way === undefined);
    const mustList = questions.some(({ way, identity }) => way === "listing" || identity === undefined);
    const latest = this.#snapshot.latest;
    const isAnswered = latest !== undefined && latest.beganAt >= since;
    const waiting = free.flatMap(({ identity }) => identity ?? []);
    const chosen = chooseWay({
      waiting,
      lookups: source.lookups,
      source: keys,
      pagesOfListing: latest?.pages,
    });
    const lists = mustList || (free.length > 0 && chosen.kind === "listing");
    if (lists && !isAnswered) {
      await this.#snapshot.beganAfter(since);
      this.#forgetOlderThan(this.#snapshot.latest?.beganAt ?? 0);
      // Whatever becomes of the lookups: this is news.
      onNews("listing");
    }
    const mustLookUp = questions
      .filter(({ way }) => way === "lookup")
      .flatMap(({ identity }) => identity ?? []);
    const lookups = lists ? mustLookUp : [...mustLookUp, ...waiting];
    await this.#lookUp(batchesFor(lookups, source.lookups, keys) ?? []);
    if (!lists || isAnswered || lookups.length > 0) onNews("lookup");
  }

  #isFound({ identity, foundSince, way }: Question): boolean {
    if (identity === undefined || foundSince === undefined || way !== undefined) return false;
    const kinds: readonly MatchKey[] = identity.providerID === undefined ? this.#keys.matchBy : ["id"];
    return kinds.some((by) =>
      valuesOf(identity, by, this.#keys.keyOf).some((value) => {
        const answer = this.answer(by, value);
        // Two of them are no answer yet: that a name is ambiguous counts only from a listing that is newer than the question.
        return answer?.instances.length === 1 && answer.asOf >= foundSince;
      }),
    );
  }

  /** Every batch is tried; what went wrong with one is told when all have been. */
  async #lookUp(batches: readonly Batch[]): Promise<void> {
    const failures: unknown[] = [];
    for (const batch of batches) {
      try {
        await this.#lookUpBatch(batch);
      } catch (error) {
        this.#options.signal.throwIfAborted();
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
  }

  async #lookUpBatch({ by, keys }: Batch): Promise<void> {
    const { source, clock, signal } = this.#options;
    const asOf = clock.monotonic();
    const call: Call = { signal, urgency: this.#urgency };
    let found: Found | undefined;
    try {
      found = await source.lookups?.[by]?.find(keys, call);
    } catch (error) {
      // One key that the cloud will not have must not hide the others.
      if (!CloudError.is(error) || error.kind !== "invalid" || keys.length < 2) throw error;
      const half = Math.ceil(keys.length / 2);
      await this.#lookUp([
        { by, keys: keys.slice(0, half) },
        { by, keys: keys.slice(half) },
      ]);
      return;
    }
    const missing = keys.filter((key) => found?.get(key) === undefined).length;
    for (const key of keys) {
      const instances = found?.get(key);
      if (instances !== undefined) this.#remember(by, key, instances, asOf);
    }
    if (missing === 0) return;
    // Whoever asked must learn that there is no answer, or would wait for one for ever.
    throw new CloudError(
      "unavailable",
      `${source.name} did not answer for ${missing} of the machines asked for.`,
      {
        operation: `look up in ${source.name}`,
      },
    );
  }

  #remember(by: MatchKey, key: string, instances: readonly Instance[], asOf: number): void {
    this.#lookedUp.set(`${by}:${key}`, { instances, asOf, proof: "lookup" });
    // What was found under a name is asked for by its id next, once the Node has it.
    for (const instance of instances) {
      for (const id of keysOf(instance, "id")) {
        this.#lookedUp.set(`id:${id}`, { instances: [instance], asOf, proof: "lookup" });
      }
    }
  }

  #forgetOlderThan(moment: number): void {
    for (const [key, { asOf }] of this.#lookedUp) if (asOf <= moment) this.#lookedUp.delete(key);
  }

  #currentIndex(): { readonly of: Complete<Instance>; readonly index: InstanceIndex } | undefined {
    const latest = this.#snapshot.latest;
    if (latest === undefined) return undefined;
    if (this.#index?.of !== latest) {
      this.#index = { of: latest, index: indexInstances(latest.items, this.#options.matchBy) };
    }
    return this.#index;
  }
}

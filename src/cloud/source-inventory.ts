// What one source has, as far as we know it: the last complete listing, answers to lookups since then, and what went
// wrong last. Questions are gathered for a moment and answered together, as `plan-questions.ts` says.

import { type Milliseconds, milliseconds } from "../core/brand.ts";
import type { Clock } from "../platform/clock.ts";
import type { Urgency } from "../provider/call.ts";
import type { Instance, InstanceSource, MatchKey } from "../provider/instances.ts";
import { type Complete, Snapshot } from "../runtime/snapshot.ts";
import type { NodeIdentity } from "./identity.ts";
import { type InstanceIndex, indexInstances } from "./instance-index.ts";
import type { KeyAnswer } from "./key-answer.ts";
import { LookedUp } from "./looked-up.ts";
import type { SourceKeys } from "./lookup-or-list.ts";
import { planQueries, type Query, type Want } from "./plan-questions.ts";
import { reuseInstances } from "./reuse-instances.ts";

export interface SourceFailure {
  readonly error: unknown;
  readonly at: number;
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
  readonly #lookedUp: LookedUp;
  #index: { readonly of: Complete<Instance>; readonly index: InstanceIndex } | undefined;
  #queries: Query[] = [];
  #isAsking = false;
  /** Of those who are being answered. */
  #urgency: Urgency = "refresh";
  #failure: SourceFailure | undefined;

  constructor(options: SourceInventoryOptions) {
    this.#options = options;
    this.#keys = { keyOf: (providerID) => this.keyOf(providerID), matchBy: options.matchBy };
    this.#lookedUp = new LookedUp(options.source, options.clock);
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
    const lookedUp = this.#lookedUp.answer(by, value);
    if (lookedUp !== undefined) return lookedUp;
    const latest = this.#currentIndex();
    if (latest === undefined) return undefined;
    return { instances: latest.index[by].get(value) ?? [], asOf: latest.of.beganAt, proof: "listing" };
  }

  /** Asks about one Node, or for a listing of everything. News comes by `onNews`. */
  want(identity: NodeIdentity | undefined, want: Want): void {
    this.#queries.push({ ...want, identity });
    if (this.#isAsking) return;
    this.#isAsking = true;
    this.#options.clock.after(gathering, () => void this.#ask());
  }

  async #ask(): Promise<void> {
    while (this.#queries.length > 0 && !this.#options.signal.aborted) {
      const queries = this.#queries;
      this.#queries = [];
      try {
        await this.#answerAll(queries);
        this.#failure = undefined;
      } catch (error) {
        if (this.#options.signal.aborted) break;
        this.#failure = { error, at: this.#options.clock.monotonic() };
        this.#options.onNews("failure");
      }
    }
    this.#isAsking = false;
  }

  async #answerAll(queries: readonly Query[]): Promise<void> {
    const { source, onNews, signal } = this.#options;
    const { urgency, listsSince, batches } = planQueries(queries, {
      keys: this.#keys,
      lookups: source.lookups,
      latest: this.#snapshot.latest,
      answer: (by, value) => this.answer(by, value),
    });
    this.#urgency = urgency;
    if (listsSince !== undefined) {
      const { beganAt } = await this.#snapshot.beganAfter(listsSince);
      this.#lookedUp.forgetOlderThan(beganAt);
      // Whatever becomes of the lookups: this is news.
      onNews("listing");
    }
    await this.#lookedUp.find(batches, { signal, urgency });
    // Without any request too: those who ask were answered meanwhile, and must look.
    if (listsSince === undefined || batches.length > 0) onNews("lookup");
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

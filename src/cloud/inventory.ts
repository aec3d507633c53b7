// Finds the machine of a Node across all sources of a cloud: exists, ambiguous, gone, foreign or unknown, never a
// guess. Answers come from memory and never wait. `request` requests a newer one, and subscribers are notified when
// it has arrived.

import { defined } from "../core/defined.ts";
import type { Clock } from "../platform/clock.ts";
import type { Urgency } from "../provider/call.ts";
import type { Instance, Instances, Machine, MatchKey } from "../provider/instances.ts";
import type { KeyAnswer } from "./instance-index.ts";
import { type NodeIdentity, valuesOf } from "./node-identity.ts";
import type { QueryOptions } from "./plan-queries.ts";
import { type SourceFailure, SourceInventory } from "./source-inventory.ts";

/** `asOf` is when the oldest request behind the answer began. A "gone" from before the lookup proves nothing. */
export type Answer =
  | {
      readonly kind: "exists";
      readonly instance: Instance;
      readonly source: string;
      readonly proof: "listing" | "lookup";
      readonly asOf: number;
    }
  | {
      readonly kind: "ambiguous";
      readonly candidates: readonly Instance[];
      readonly by: MatchKey;
      readonly asOf: number;
    }
  | { readonly kind: "gone"; readonly proof: "listing" | "lookup"; readonly asOf: number }
  /** No source recognizes the provider id: the Node is never changed. */
  | { readonly kind: "foreign" }
  | { readonly kind: "unknown"; readonly failure: SourceFailure | undefined };

/** What made new answers available: a listing, a lookup, or a failed attempt at either. */
export type InventoryUpdate = "listing" | "lookup" | "failure";

export interface InventoryOptions {
  readonly instances: Instances;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

export class Inventory {
  readonly #matchBy: readonly MatchKey[];
  readonly #sources: readonly SourceInventory[];
  readonly #listeners = new Set<(update: InventoryUpdate) => void>();

  constructor({ instances, clock, signal }: InventoryOptions) {
    this.#matchBy = instances.matchBy;
    const onUpdate = (update: InventoryUpdate) => {
      for (const listener of this.#listeners) listener(update);
    };
    this.#sources = instances.sources.map(
      (source) => new SourceInventory({ source, matchBy: instances.matchBy, clock, signal, onUpdate }),
    );
  }

  get sources(): readonly SourceInventory[] {
    return this.#sources;
  }

  /** Calls the listener after every update. Returns how to unsubscribe. */
  subscribe(listener: (update: InventoryUpdate) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Whether a source knows the Node's provider id. A Node without one may belong to this cloud. */
  manages({ providerID }: NodeIdentity): boolean {
    return providerID === undefined || this.#managingSources(providerID).length > 0;
  }

  /** The machine that a provider id names, for load balancers and routes. It need not exist. */
  machineOf(identity: NodeIdentity): Machine | undefined {
    const [source] = identity.providerID === undefined ? [] : this.#managingSources(identity.providerID);
    const key = identity.providerID && source?.keyOf(identity.providerID);
    if (source === undefined || key === undefined) return undefined;
    const handles = source.answer("id", key)?.instances[0]?.handles;
    return defined({ source: source.source.name, key, handles });
  }

  /** What is known about the machine of this Node now. */
  check(identity: NodeIdentity): Answer {
    const { providerID } = identity;
    const sources = this.#relevant(identity);
    if (sources.length === 0) return { kind: "foreign" };
    const kinds: readonly MatchKey[] = providerID === undefined ? this.#matchBy : ["id"];
    const known: (KeyAnswer | undefined)[] = [];
    for (const by of kinds) {
      const answers = sources.map((source) => ({ source, answers: answersOf(source, identity, by) }));
      const candidates = new Map<string, Omit<Extract<Answer, { kind: "exists" }>, "kind">>();
      for (const { source, answers: ofSource } of answers) {
        known.push(...ofSource);
        for (const { instances, proof, asOf } of ofSource.filter((answer) => answer !== undefined)) {
          for (const instance of instances) {
            const { name } = source.source;
            candidates.set(`${name} ${instance.key}`, { instance, source: name, proof, asOf });
          }
        }
      }
      const [first, second] = candidates.values();
      // A weaker key must not decide while a stronger one is unanswered, because a provider id is never changed once written.
      if (first === undefined && answers.some((source) => source.answers.includes(undefined))) break;
      if (first === undefined) continue;
      if (second === undefined) return { kind: "exists", ...first };
      const all = [...candidates.values()];
      return { kind: "ambiguous", by, candidates: all.map(({ instance }) => instance), asOf: oldest(all) };
    }
    const complete = known.filter((answer) => answer !== undefined);
    if (complete.length < known.length || complete.length === 0) {
      return { kind: "unknown", failure: newestFailure(sources) };
    }
    const proof = complete.every((answer) => answer.proof === "lookup") ? "lookup" : "listing";
    return { kind: "gone", proof, asOf: oldest(complete) };
  }

  /** The last failure of the sources that could know this Node. */
  failureFor(identity: NodeIdentity): SourceFailure | undefined {
    return newestFailure(this.#relevant(identity));
  }

  /** Requests a newer answer about one Node. */
  request(identity: NodeIdentity, options: QueryOptions): void {
    for (const source of this.#relevant(identity)) source.request(identity, options);
  }

  /** The independent proofs by which the absence of this Node's machine can be shown. */
  proofsFor(identity: NodeIdentity): readonly ("listing" | "lookup")[] {
    const canLookUp =
      identity.providerID !== undefined &&
      this.#relevant(identity).every(({ source }) => source.lookups?.id !== undefined);
    return canLookUp ? ["listing", "lookup"] : ["listing"];
  }

  /** Whether the Node has any property to find its machine by. Without one there would never be an answer. */
  canFind(identity: NodeIdentity): boolean {
    const kinds: readonly MatchKey[] = identity.providerID === undefined ? this.#matchBy : ["id"];
    return this.#relevant(identity).some((source) =>
      kinds.some((by) => valuesOf(identity, by, (id) => source.keyOf(id)).length > 0),
    );
  }

  get matchBy(): readonly MatchKey[] {
    return this.#matchBy;
  }

  /** How many requests a query about this many Nodes like this one takes. */
  costOf(identity: NodeIdentity, nodes: number): number {
    return this.#relevant(identity).reduce((sum, { source, latest }) => {
      const { pages = 1, items = [] } = latest ?? {};
      const limit = identity.providerID === undefined ? undefined : source.lookups?.id?.limit;
      if (limit === undefined) return sum + pages;
      const batches = Math.ceil(nodes / limit);
      // A listing without states cannot replace lookups.
      return sum + (items[0]?.state === undefined ? batches : Math.min(batches, pages));
    }, 0);
  }

  /** Requests a listing of all sources. */
  requestListing(since: number, urgency: Urgency): void {
    for (const source of this.#sources) source.request(undefined, { since, urgency });
  }

  #relevant({ providerID }: NodeIdentity): readonly SourceInventory[] {
    return providerID === undefined ? this.#sources : this.#managingSources(providerID);
  }

  #managingSources(providerID: NonNullable<NodeIdentity["providerID"]>): readonly SourceInventory[] {
    return this.#sources.filter((source) => source.keyOf(providerID) !== undefined);
  }
}

function answersOf(
  source: SourceInventory,
  identity: NodeIdentity,
  by: MatchKey,
): readonly (KeyAnswer | undefined)[] {
  return valuesOf(identity, by, (id) => source.keyOf(id)).map((value) => source.answer(by, value));
}

function oldest(answers: readonly { readonly asOf: number }[]): number {
  return Math.min(...answers.map(({ asOf }) => asOf));
}

function newestFailure(sources: readonly SourceInventory[]): SourceFailure | undefined {
  return sources
    .flatMap(({ failure }) => failure ?? [])
    .reduce<SourceFailure | undefined>(
      (newest, failure) => (newest !== undefined && newest.at > failure.at ? newest : failure),
      undefined,
    );
}

// Which machine a Node is, across all sources of a cloud: exists, gone or unknown, never a guess. It answers from what
// is known and never waits; who needs something newer says so and is told when it has come.

import type { Clock } from "../platform/clock.ts";
import type { Urgency } from "../provider/call.ts";
import type { Instance, Instances, Machine, MatchKey } from "../provider/instances.ts";
import { type NodeIdentity, valuesOf } from "./identity.ts";
import type { KeyAnswer } from "./key-answer.ts";
import type { Want } from "./plan-questions.ts";
import { type SourceFailure, SourceInventory } from "./source-inventory.ts";

/** `asOf` is when the oldest request began that the answer rests on; a "gone" older than the question proves nothing. */
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
  /** Its provider id is of no source of ours: hands off. */
  | { readonly kind: "foreign" }
  | { readonly kind: "unknown"; readonly failure: SourceFailure | undefined };

export type News = "listing" | "lookup" | "failure";

export interface InventoryOptions {
  readonly instances: Instances;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

export class Inventory {
  readonly #matchBy: readonly MatchKey[];
  readonly #sources: readonly SourceInventory[];
  readonly #listeners = new Set<(news: News) => void>();

  constructor({ instances, clock, signal }: InventoryOptions) {
    this.#matchBy = instances.matchBy;
    const onNews = (news: News) => {
      for (const listener of this.#listeners) listener(news);
    };
    this.#sources = instances.sources.map(
      (source) => new SourceInventory({ source, matchBy: instances.matchBy, clock, signal, onNews }),
    );
  }

  get sources(): readonly SourceInventory[] {
    return this.#sources;
  }

  subscribe(listener: (news: News) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Whether a Node is one of ours by its id; a Node without one may be. */
  claims({ providerID }: NodeIdentity): boolean {
    return providerID === undefined || this.#claimants(providerID).length > 0;
  }

  /** The machine that a provider id names, as balancers and routes are told of it; whether it exists is another question. */
  machineOf(identity: NodeIdentity): Machine | undefined {
    const [claimant] = identity.providerID === undefined ? [] : this.#claimants(identity.providerID);
    const key = identity.providerID && claimant?.keyOf(identity.providerID);
    if (claimant === undefined || key === undefined) return undefined;
    const handles = claimant.answer("id", key)?.instances[0]?.handles;
    return { source: claimant.source.name, key, ...(handles !== undefined && { handles }) };
  }

  check(identity: NodeIdentity): Answer {
    const { providerID } = identity;
    const sources = this.#relevant(identity);
    if (sources.length === 0) return { kind: "foreign" };
    const kinds: readonly MatchKey[] = providerID === undefined ? this.#matchBy : ["id"];
    const given: (KeyAnswer | undefined)[] = [];
    for (const by of kinds) {
      const answers = sources.map((source) => ({ source, answers: answersOf(source, identity, by) }));
      const candidates = new Map<string, Omit<Extract<Answer, { kind: "exists" }>, "kind">>();
      for (const { source, answers: known } of answers) {
        given.push(...known);
        for (const { instances, proof, asOf } of known.filter((answer) => answer !== undefined)) {
          for (const instance of instances) {
            const { name } = source.source;
            candidates.set(`${name} ${instance.key}`, { instance, source: name, proof, asOf });
          }
        }
      }
      const [first, second] = candidates.values();
      // A weaker key may not decide while a stronger one is unanswered: a provider id is written once and for ever.
      if (first === undefined && answers.some(({ answers: known }) => known.includes(undefined))) break;
      if (first === undefined) continue;
      if (second === undefined) return { kind: "exists", ...first };
      const all = [...candidates.values()];
      return { kind: "ambiguous", by, candidates: all.map(({ instance }) => instance), asOf: oldest(all) };
    }
    const complete = given.filter((answer) => answer !== undefined);
    if (complete.length < given.length || complete.length === 0) {
      return { kind: "unknown", failure: newestFailure(sources) };
    }
    const proof = complete.every((answer) => answer.proof === "lookup") ? "lookup" : "listing";
    return { kind: "gone", proof, asOf: oldest(complete) };
  }

  /** What went wrong last where this Node's answer would come from. */
  failureFor(identity: NodeIdentity): SourceFailure | undefined {
    return newestFailure(this.#relevant(identity));
  }

  want(identity: NodeIdentity, want: Want): void {
    for (const source of this.#relevant(identity)) source.want(identity, want);
  }

  /** The independent ways in which the absence of this Node's machine can be proved. */
  waysFor(identity: NodeIdentity): readonly ("listing" | "lookup")[] {
    const canLookUp =
      identity.providerID !== undefined &&
      this.#relevant(identity).every(({ source }) => source.lookups?.id !== undefined);
    return canLookUp ? ["listing", "lookup"] : ["listing"];
  }

  /** Whether this Node tells anything by which its machine could be found; without it no answer would ever come. */
  canFind(identity: NodeIdentity): boolean {
    const kinds: readonly MatchKey[] = identity.providerID === undefined ? this.#matchBy : ["id"];
    return this.#relevant(identity).some((source) =>
      kinds.some((by) => valuesOf(identity, by, (id) => source.keyOf(id)).length > 0),
    );
  }

  get matchBy(): readonly MatchKey[] {
    return this.#matchBy;
  }

  /** What one question about so many Nodes like this one costs, in requests. */
  costOf(identity: NodeIdentity, nodes: number): number {
    return this.#relevant(identity).reduce((sum, { source, latest }) => {
      const { pages = 1, items = [] } = latest ?? {};
      const limit = identity.providerID === undefined ? undefined : source.lookups?.id?.limit;
      if (limit === undefined) return sum + pages;
      const batches = Math.ceil(nodes / limit);
      // Where a listing does not tell what a lookup does, it cannot stand in for many of them.
      return sum + (items[0]?.state === undefined ? batches : Math.min(batches, pages));
    }, 0);
  }

  /** A listing of everything, for refreshes and as the first thing at start. */
  wantListing(since: number, urgency: Urgency): void {
    for (const source of this.#sources) source.want(undefined, { since, urgency });
  }

  #relevant({ providerID }: NodeIdentity): readonly SourceInventory[] {
    return providerID === undefined ? this.#sources : this.#claimants(providerID);
  }

  #claimants(providerID: NonNullable<NodeIdentity["providerID"]>): readonly SourceInventory[] {
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

// Finds the machine of a Node across all sources of a cloud: the result is exists, unconfirmed, ambiguous, gone, foreign or
// unknown, never a guess. Answers come from memory without waiting. `request` requests a newer answer, and subscribers are
// notified when it arrives.

import { type Milliseconds, milliseconds, minutes, seconds } from "../../core/brand.ts";
import { defined } from "../../core/defined.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Urgency } from "../../provider/call.ts";
import type {
  Instance,
  InstanceSource,
  Instances,
  Machine,
  MatchKey,
  UnreadableSource,
} from "../../provider/instances.ts";
import type { KeyAnswer } from "./instance-index.ts";
import { type NodeIdentity, sourceKeyOf, valuesOf } from "./node-identity.ts";
import type { QueryOptions } from "./plan-queries.ts";
import { answersOf, newestFailure, renamedMachines } from "./source-answers.ts";
import { type SourceFailure, SourceInventory } from "./source-inventory.ts";

/** `asOf` is the start of the oldest request behind the answer. A "gone" from before the lookup proves nothing. */
export type Answer =
  | {
      readonly kind: "exists";
      readonly instance: Instance;
      readonly source: string;
      readonly proof: "listing" | "lookup";
      readonly asOf: number;
      /**
       * The start of the oldest answer that rules out another match in the other sources. Infinity if the provider id or the only
       * source decides.
       */
      readonly othersAsOf: number;
    }
  /** One machine matches by a key other than the provider id, but a source that might have a second match has no answer. */
  | {
      readonly kind: "unconfirmed";
      readonly instance: Instance;
      readonly source: string;
      readonly by: MatchKey;
      readonly asOf: number;
    }
  | {
      readonly kind: "ambiguous";
      readonly candidates: readonly { readonly instance: Instance; readonly source: string }[];
      readonly by: MatchKey;
      readonly asOf: number;
    }
  | {
      readonly kind: "gone";
      readonly proof: "listing" | "lookup";
      readonly asOf: number;
      /** The machine exists, but its name differs, which decides in its source. */
      readonly renamed?: Instance | undefined;
      /** A machine that may belong to this Node, because the cloud does not report its name. */
      readonly undescribed?: Instance | undefined;
    }
  /** No readable source recognizes the provider id, so the Node is never changed. */
  | { readonly kind: "foreign" }
  | { readonly kind: "unknown"; readonly failure: SourceFailure | undefined };

/** A source without an answer about a Node, with the failure of its last request. */
export interface UnansweredSource {
  readonly source: string;
  readonly failure: SourceFailure | undefined;
}

interface Candidate {
  readonly instance: Instance;
  readonly source: SourceInventory;
  readonly proof: "listing" | "lookup";
  readonly asOf: number;
}

/** The cause of new answers: a listing, a lookup, or a failed attempt. */
export type InventoryUpdate = "listing" | "lookup" | "failure";

export interface InventoryOptions {
  readonly instances: Instances;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** If false, no controller needs instances, so none are requested. Provider ids are still recognized. */
  readonly isNeeded?: boolean;
  readonly onListenerError?: (error: unknown) => void;
}

export class Inventory {
  readonly isNeeded: boolean;
  /** Aborted when no more requests may be sent. */
  readonly life: AbortSignal;
  readonly #matchBy: readonly MatchKey[];
  readonly #sources: readonly SourceInventory[];
  readonly #unreadable: readonly UnreadableSource[];
  readonly #listeners = new Set<(update: InventoryUpdate) => void>();
  readonly #pageListeners = new Set<(page: readonly Instance[]) => void>();

  constructor({ instances, clock, signal, isNeeded = true, onListenerError }: InventoryOptions) {
    this.isNeeded = isNeeded;
    this.life = signal;
    this.#matchBy = instances.matchBy;
    this.#unreadable = instances.unreadable ?? [];
    const onUpdate = (update: InventoryUpdate) => {
      for (const listener of this.#listeners) {
        try {
          listener(update);
        } catch (error) {
          // If the error ended the update, the source would never answer again.
          onListenerError?.(error);
        }
      }
    };
    const onPage = (page: readonly Instance[]) => {
      for (const listener of this.#pageListeners) listener(page);
    };
    this.#sources = instances.sources.map(
      (source) =>
        new SourceInventory({ source, matchBy: instances.matchBy, clock, signal, onUpdate, onPage }),
    );
  }

  get sources(): readonly SourceInventory[] {
    return this.#sources;
  }

  /** The names of the sources that the credentials cannot access. */
  get withoutAccess(): readonly string[] {
    return this.#unreadable.flatMap(({ name, because }) => (because === undefined ? name : []));
  }

  /** Calls the listener after every update. Returns a function that unsubscribes. */
  subscribe(listener: (update: InventoryUpdate) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Calls the listener with each page of a running listing whose machines can already be found by name. Returns a function
   * that unsubscribes.
   */
  subscribeToPages(listener: (page: readonly Instance[]) => void): () => void {
    this.#pageListeners.add(listener);
    return () => this.#pageListeners.delete(listener);
  }

  /** Whether a readable source knows the Node's provider id. A Node without a provider id may belong to this cloud. */
  manages({ providerID }: NodeIdentity): boolean {
    return providerID === undefined || this.#managingSources(providerID).length > 0;
  }

  /** The unreadable source, if no other source knows the Node's provider id. */
  unreadableSourceOf(identity: NodeIdentity): UnreadableSource | undefined {
    const { providerID } = identity;
    if (providerID === undefined || this.manages(identity)) return undefined;
    return this.#unreadable.find((source) => sourceKeyOf(source, providerID) !== undefined);
  }

  /** The Node's machine in that source. */
  unreadableMachineOf(identity: NodeIdentity): Machine | undefined {
    const source = this.unreadableSourceOf(identity);
    const key = source && sourceKeyOf(source, identity.providerID ?? "");
    return source && key !== undefined ? { source: source.name, key } : undefined;
  }

  /** Every machine that a provider id may name, as `source key`. The result depends only on the id. */
  machineKeysOf(providerID: string): readonly string[] {
    const all = [...this.#sources.map(({ source }) => source), ...this.#unreadable];
    return all.flatMap((source) => {
      const key = sourceKeyOf(source, providerID);
      return key === undefined ? [] : `${source.name} ${key}`;
    });
  }

  /** The machine that a provider id names, for load balancers and routes. The machine need not exist. */
  machineOf(identity: NodeIdentity): Machine | undefined {
    const { providerID } = identity;
    if (providerID === undefined) return undefined;
    const all = this.#managingSources(providerID).map((source) => {
      const key = source.keyOf(providerID) ?? "";
      return { source: source.source.name, key, answer: source.answer("id", key) };
    });
    // Several sources may recognize the id. A source that answered without the machine does not have it.
    const found =
      all.find(({ answer }) => answer?.instances.length) ??
      all.find(({ answer }) => answer === undefined) ??
      all[0];
    if (found === undefined) return this.unreadableMachineOf(identity);
    return defined({ source: found.source, key: found.key, handles: found.answer?.instances[0]?.handles });
  }

  /** The current answer about this Node's machine. */
  check(identity: NodeIdentity): Answer {
    const sources = this.#relevant(identity);
    if (sources.length === 0) return { kind: "foreign" };
    const kinds = this.#keysFor(identity);
    const known: (KeyAnswer | undefined)[] = [];
    const absences: { readonly source: SourceInventory; readonly asOf: number }[] = [];
    for (const by of kinds) {
      const answers = sources.map((source) => ({ source, answers: answersOf(source, identity, by) }));
      const candidates = new Map<string, Candidate>();
      for (const { source, answers: ofSource } of answers) {
        known.push(...ofSource);
        for (const { instances, proof, asOf } of ofSource.filter((answer) => answer !== undefined)) {
          for (const instance of instances) {
            candidates.set(`${source.source.name} ${instance.key}`, { instance, source, proof, asOf });
          }
          if (instances.length === 0) absences.push({ source, asOf });
        }
      }
      const [first, second] = candidates.values();
      // A weaker key must not decide while a stronger key is unanswered, because a provider id is never changed once written.
      const isUnanswered = answers.some((source) => source.answers.includes(undefined));
      if (first === undefined && isUnanswered) break;
      if (first === undefined) continue;
      if (second === undefined) {
        const { instance, asOf } = first;
        const source = first.source.source.name;
        if (isUnanswered && by !== "id") return { kind: "unconfirmed", by, instance, source, asOf };
        const copies = by === "id" ? [] : this.#copiesOf(first);
        if (copies.length > 0)
          return { kind: "ambiguous", by: "id", candidates: [{ instance, source }, ...copies], asOf };
        const others = by === "id" ? [] : absences.filter((one) => one.source !== first.source);
        return { kind: "exists", ...first, source, othersAsOf: oldest(others) };
      }
      const all = [...candidates.values()];
      const found = all.map(({ instance, source }) => ({ instance, source: source.source.name }));
      return { kind: "ambiguous", by, candidates: found, asOf: oldest(all) };
    }
    const complete = known.filter((answer) => answer !== undefined);
    if (complete.length < known.length || complete.length === 0) {
      return { kind: "unknown", failure: newestFailure(sources) };
    }
    const proof = complete.every((answer) => answer.proof === "lookup") ? "lookup" : "listing";
    const renamed = sources.flatMap((source) => renamedMachines(source, identity)).at(0);
    const isNamed = identity.providerID === undefined;
    const undescribed = isNamed ? sources.flatMap((source) => source.undescribed ?? []).at(0) : undefined;
    return { kind: "gone", proof, asOf: oldest(complete), ...defined({ renamed, undescribed }) };
  }

  /** The sources that have not answered about this Node since then. The source with the match may have answered earlier. */
  unanswered(identity: NodeIdentity, since: number, matchedIn: string): readonly UnansweredSource[] {
    return this.#relevant(identity)
      .filter((source) => {
        const isMatched = source.source.name === matchedIn;
        return this.#keysFor(identity).some((by) =>
          answersOf(source, identity, by).some(
            (answer) => answer === undefined || (!isMatched && answer.asOf < since),
          ),
        );
      })
      .map(({ source, failure }) => ({ source: source.name, failure }));
  }

  /** The last failure among the sources that may know this Node. */
  failureFor(identity: NodeIdentity): SourceFailure | undefined {
    return newestFailure(this.#relevant(identity));
  }

  /** Requests a newer answer about one Node. */
  request(identity: NodeIdentity, options: QueryOptions): void {
    const sources = this.#relevant(identity);
    // A match by a weaker key is certain only when no other source has a match by a stronger key.
    const isCertain = identity.providerID !== undefined || sources.length === 1;
    const foundBy = isCertain ? undefined : this.#strongestKey(identity);
    const query = foundBy === undefined ? options : { ...options, foundBy };
    if (this.isNeeded) for (const source of sources) source.request(identity, query);
  }

  /** The machines of other sources with the same provider id, such as those of two vCenters of which one is a copy. */
  #copiesOf({
    instance,
    source,
  }: Candidate): readonly { readonly instance: Instance; readonly source: string }[] {
    return this.#managingSources(instance.id)
      .filter((other) => other !== source)
      .flatMap((other) =>
        (other.answer("id", other.keyOf(instance.id) ?? "")?.instances ?? []).map((copy) => ({
          instance: copy,
          source: other.source.name,
        })),
      );
  }

  #strongestKey(identity: NodeIdentity): MatchKey | undefined {
    return this.#matchBy.find((by) =>
      this.#sources.some((source) => valuesOf(identity, by, (id) => source.keyOf(id)).length > 0),
    );
  }

  /** The independent proofs that can show the absence of this Node's machine. */
  proofsFor(identity: NodeIdentity): readonly ("listing" | "lookup")[] {
    const canLookUp =
      identity.providerID !== undefined &&
      this.#relevant(identity).every(({ source }) => source.lookups?.id !== undefined);
    return canLookUp ? ["listing", "lookup"] : ["listing"];
  }

  /** Whether the Node has a property that identifies its machine. Without one, a request would never be answered. */
  canFind(identity: NodeIdentity): boolean {
    return this.#relevant(identity).some((source) =>
      this.#keysFor(identity).some((by) => valuesOf(identity, by, (id) => source.keyOf(id)).length > 0),
    );
  }

  get matchBy(): readonly MatchKey[] {
    return this.#matchBy;
  }

  /** The number of requests that a query about this many similar Nodes takes. */
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

  /** The interval at which this many similar Nodes are checked. */
  checkInterval(identity: NodeIdentity, nodes: number, pace: Pace): Milliseconds {
    const declared = this.#relevant(identity).map(({ source, latest }) =>
      declaredInterval(source, nodes, latest?.items.length),
    );
    return milliseconds(Math.max(intervalOf(this.costOf(identity, nodes), pace), ...declared));
  }

  /** Requests a listing from all sources. */
  requestListing(since: number, urgency: Urgency): void {
    if (this.isNeeded) for (const source of this.#sources) source.request(undefined, { since, urgency });
  }

  #keysFor({ providerID }: NodeIdentity): readonly MatchKey[] {
    return providerID === undefined ? this.#matchBy : ["id"];
  }

  #relevant({ providerID }: NodeIdentity): readonly SourceInventory[] {
    return providerID === undefined ? this.#sources : this.#managingSources(providerID);
  }

  #managingSources(providerID: NonNullable<NodeIdentity["providerID"]>): readonly SourceInventory[] {
    return this.#sources.filter((source) => source.keyOf(providerID) !== undefined);
  }
}

function oldest(answers: readonly { readonly asOf: number }[]): number {
  return Math.min(...answers.map(({ asOf }) => asOf));
}

/** How often Nodes are checked. `soon`: the answer is expected to change, as for a terminating machine. */
type Pace = "soon" | "regular";

/** Regular checks with more requests than this are limited to 4 requests per minute. `soon` checks are limited to 20. */
const fewRequests = 10;

/** The interval between checks that take this many requests each. */
export function intervalOf(requests: number, pace: Pace): Milliseconds {
  const regular = requests <= fewRequests ? 60 : requests * 15;
  return seconds(Math.min(300, pace === "soon" ? Math.max(15, requests * 3) : regular));
}

type Limits = Pick<InstanceSource, "requestsPerHour" | "lookups">;

/**
 * The shortest interval that the source allows for this many Nodes; 0 without a limit. `machines`: the number in the last
 * listing.
 */
export function declaredInterval(
  { requestsPerHour, lookups }: Limits,
  nodes: number,
  machines = Number.POSITIVE_INFINITY,
): Milliseconds {
  if (requestsPerHour === undefined) return milliseconds(0);
  const limit = lookups?.id?.limit;
  const requests = limit === undefined ? 1 : Math.ceil(Math.min(nodes, machines) / limit);
  return milliseconds((requests * minutes(60)) / requestsPerHour);
}

// What is known of each Node that is not Ready or marked as switched off: one record per Node, so that all of it is
// forgotten together. What follows from it is decided elsewhere.

import type { Answer } from "../../cloud/inventory.ts";
import type { Node } from "../../kube/objects.ts";
import type { Clock } from "../../platform/clock.ts";
import type { NodeStore } from "../node-deps.ts";
import { isReady } from "../node-facts.ts";
import type { PendingLookups } from "../pending-lookups.ts";
import { addObservation, type Evidence, noEvidence } from "./evidence.ts";

export interface Candidate {
  /** Whom it is about: another Node may take the name, and what was proved of a name says nothing of an id. */
  readonly subject: string;
  /** What speaks for absence; undefined before the first look, and after it was seen Ready. */
  readonly evidence?: Evidence | undefined;
  /** When the cloud is to be looked at again by itself, monotonic. */
  readonly nextCheck?: number | undefined;
  /** Why it is not deleted for now although its machine is gone. */
  readonly heldFor?: string | undefined;
}

export class Candidates {
  readonly #clock: Clock;
  readonly #pending: PendingLookups;
  readonly #byName = new Map<string, Candidate>();
  #checks = 0;

  constructor(clock: Clock, pendingLookups: PendingLookups) {
    this.#clock = clock;
    this.#pending = pendingLookups;
  }

  get all(): ReadonlyMap<string, Candidate> {
    return this.#byName;
  }

  /** How many are looked at again by themselves. */
  get checks(): number {
    return this.#checks;
  }

  evidenceOf(name: string): Evidence {
    return this.#byName.get(name)?.evidence ?? noEvidence(0);
  }

  /** The record of this very Node; an empty one if the name was another's. */
  of(node: Node): Candidate {
    const { name, uid } = node.metadata;
    const subject = `${uid} ${node.spec.providerID ?? ""}`;
    const before = this.#byName.get(name);
    if (before?.subject === subject) return before;
    this.forget(name);
    // A node that has just been given its id: that its machine was seen a moment ago still counts, proofs do not.
    const seenSince = before?.subject === `${uid} ` ? before.evidence?.seenSince : undefined;
    const evidence = seenSince === undefined ? undefined : noEvidence(this.#clock.monotonic(), seenSince);
    return this.#put(name, { subject, evidence });
  }

  update(name: string, changes: Omit<Partial<Candidate>, "subject">): void {
    const candidate = this.#byName.get(name);
    if (candidate !== undefined) this.#put(name, { ...candidate, ...changes });
  }

  /** Whose machine was seen is proved nothing of, also by an answer that somebody else asked for. */
  noteObservations(answerFor: (name: string) => Answer | undefined): void {
    for (const [name, { evidence }] of this.#byName) {
      if (evidence === undefined || evidence.proofs.length === 0) continue;
      const answer = answerFor(name);
      if (answer?.kind !== "exists" && answer?.kind !== "ambiguous") continue;
      this.update(name, { evidence: addObservation(evidence, answer) });
    }
  }

  forget(name: string): void {
    this.#pending.forget(name);
    if (this.#byName.get(name)?.nextCheck !== undefined) this.#checks -= 1;
    this.#byName.delete(name);
  }

  forgetAll(): void {
    for (const name of this.#byName.keys()) this.forget(name);
  }

  /** Follows the Nodes for good: who was seen alive, if only for a moment that no worker saw, is proved nothing of. */
  follow(nodes: NodeStore): void {
    nodes.subscribe(({ key, after }) => {
      if (after !== undefined && isReady(after)) this.update(key, { evidence: undefined });
    });
  }

  #put(name: string, candidate: Candidate): Candidate {
    const isCheck = ({ nextCheck }: Partial<Candidate> = {}): number => (nextCheck === undefined ? 0 : 1);
    this.#checks += isCheck(candidate) - isCheck(this.#byName.get(name));
    this.#byName.set(name, candidate);
    return candidate;
  }
}

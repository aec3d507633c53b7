// Keeps one record per Node that is NotReady or has the shutdown taint, so that everything about a Node is forgotten together. Other files make the decisions.

import type { Answer } from "../../cloud/inventory/instances.ts";
import { type Milliseconds, milliseconds } from "../../core/brand.ts";
import type { Node } from "../../kube/objects.ts";
import type { Clock } from "../../platform/clock.ts";
import { untilNext } from "../../runtime/backoff.ts";
import type { Board } from "../kernel/board.ts";
import type { NodeStore } from "../node-deps.ts";
import { isReady } from "../node-facts.ts";
import type { PendingLookups } from "../pending-lookups.ts";
import { addAnswer, isNews, type NodeEvidence, noEvidence } from "./observe.ts";

export interface Candidate {
  /** The Node's uid and provider id. Another Node may reuse the name, and a proof for a name is not valid for an id. */
  readonly subject: string;
  /** Evidence that the instance is gone; undefined before the first answer, and after the Node was Ready. */
  readonly evidence?: NodeEvidence | undefined;
  /** When the Node is checked again without a change (monotonic). */
  readonly nextCheck?: number | undefined;
  /** In observe mode, whether the shutdown taint would have been set. */
  readonly isTaintObserved?: boolean | undefined;
  /** Why the Node is not deleted although its instance is gone. */
  readonly heldFor?: string | undefined;
}

export class Candidates {
  readonly #clock: Clock;
  readonly #pendingLookups: PendingLookups;
  /** The reported holds, which are forgotten with the record. */
  readonly #board: Board<"hold">;
  readonly #byName = new Map<string, Candidate>();
  readonly #listeners = new Set<(name: string) => void>();
  #terminating = 0;

  constructor(clock: Clock, pendingLookups: PendingLookups, board: Board<"hold">) {
    this.#clock = clock;
    this.#pendingLookups = pendingLookups;
    this.#board = board;
  }

  get all(): ReadonlyMap<string, Candidate> {
    return this.#byName;
  }

  /** The number of Nodes whose instance was terminating when it was last observed. */
  get terminating(): number {
    return this.#terminating;
  }

  evidenceOf(name: string): NodeEvidence {
    return this.#byName.get(name)?.evidence ?? noEvidence(0);
  }

  /** The record of this Node; a new record if the existing one belongs to a predecessor with the same name. */
  of(node: Node): Candidate {
    const { name, uid } = node.metadata;
    const subject = `${uid} ${node.spec.providerID ?? ""}`;
    const before = this.#byName.get(name);
    if (before?.subject === subject) return before;
    // A hold that an earlier session reported may still apply.
    if (before !== undefined) this.forget(name);
    // The Node has just got its provider id. A recent observation of its instance still counts, but proofs do not.
    const seenSince = before?.subject === `${uid} ` ? before.evidence?.seenSince : undefined;
    const evidence = seenSince === undefined ? undefined : noEvidence(this.#clock.monotonic(), seenSince);
    return this.#put(name, { subject, evidence });
  }

  update(name: string, changes: Omit<Partial<Candidate>, "subject">): void {
    const candidate = this.#byName.get(name);
    if (candidate !== undefined) this.#put(name, { ...candidate, ...changes });
  }

  isCheckDue(name: string): boolean {
    return this.#clock.monotonic() >= (this.#byName.get(name)?.nextCheck ?? Number.POSITIVE_INFINITY);
  }

  /**
   * Schedules the next check, unless an earlier check is scheduled, and returns the delay until then. Checks with the same
   * interval are aligned, so that one answer serves them all.
   */
  scheduleCheck(name: string, interval: Milliseconds): Milliseconds {
    const now = this.#clock.monotonic();
    const { nextCheck: scheduled = 0 } = this.#byName.get(name) ?? {};
    const next = now + untilNext(now, interval);
    const nextCheck = scheduled > now ? Math.min(scheduled, next) : next;
    this.update(name, { nextCheck });
    return milliseconds(nextCheck - now);
  }

  /** Calls the listener after every change of a record. Returns a function that unsubscribes. */
  subscribe(listener: (name: string) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Drops the proofs about every Node whose instance was observed, even in answers to other lookups. Returns the Nodes to
   * reconcile now, because the next scheduled check would be late, or miss a state that the cloud shows only briefly.
   */
  noteAnswers(answerFor: (name: string) => Answer | undefined): readonly string[] {
    const news: string[] = [];
    for (const [name, { evidence, nextCheck }] of this.#byName) {
      // Without evidence and proofs, the answer to a pending lookup is the first about this Node.
      const proofs = [...(evidence?.proofs ?? []), ...(evidence?.stops ?? [])];
      if (evidence === undefined || (proofs.length === 0 && nextCheck === undefined)) continue;
      const answer = answerFor(name);
      if (answer === undefined || !("asOf" in answer)) continue;
      if (isNews(evidence, answer)) news.push(name);
      if (proofs.length > 0 && answer.kind !== "gone")
        this.update(name, { evidence: addAnswer(evidence, answer, this.#clock.monotonic()) });
    }
    return news;
  }

  /** Called when the Node is not held, so that a later hold is reported again. */
  endHold(name: string): void {
    this.update(name, { heldFor: undefined });
    this.#board.forget(name);
  }

  forget(name: string): void {
    this.#board.forget(name);
    this.#pendingLookups.forget(name);
    this.#terminating -= terminatingIn(this.#byName.get(name));
    if (this.#byName.delete(name)) this.#notify(name);
  }

  /** A Node that is Ready, however briefly, loses its evidence. Returns a function that stops this. */
  follow(nodes: NodeStore): () => void {
    return nodes.subscribe(({ key, after }) => {
      if (after !== undefined && isReady(after)) this.update(key, { evidence: undefined });
    });
  }

  #put(name: string, candidate: Candidate): Candidate {
    this.#terminating += terminatingIn(candidate) - terminatingIn(this.#byName.get(name));
    this.#byName.set(name, candidate);
    this.#notify(name);
    return candidate;
  }

  #notify(name: string): void {
    for (const listener of this.#listeners) listener(name);
  }
}

function terminatingIn(candidate: Candidate | undefined): number {
  return Number(candidate?.evidence?.state === "terminating");
}

// What is known about the routes that Nodes need: whether each was there, and since when listings lack it. One wrong listing
// must not create thousands of routes a second time.

import { type Cidr, type Milliseconds, minutes, seconds } from "../../../core/brand.ts";
import { defined } from "../../../core/defined.ts";
import type { Node } from "../../../kube/objects.ts";
import type { Change } from "../../../kube/watch/store.ts";
import type { Clock } from "../../../platform/clock.ts";
import type { DesiredRoute, ObservedRoute } from "../../../provider/routes.ts";
import { nextLateCheck } from "../../absence/creations.ts";
import {
  type Absence,
  addProof,
  awaited,
  type Evidence,
  judge,
  type Proof,
  type ProofRule,
} from "../../absence/proof.ts";
import { isRefusal } from "../../classify-error.ts";
import { networkCondition } from "../../well-known.ts";
import { type DesiredRoutes, podRangesOf } from "../desired/plan-desired.ts";
import type { ChangeResult } from "../plan/route-change.ts";

interface Known extends Evidence {
  /** What has its destination leads elsewhere, so Fairlead removes that to replace it. */
  readonly isTaken?: true;
  /** Fairlead removed it to replace it: when the listing began that showed it last, or when the operation ended (monotonic). */
  readonly replacedAt?: number | undefined;
  /** From an earlier session: another leader may have created it since, and the Node shows it then. */
  readonly isEarlier?: true;
  /** Only a former leader may have requested it. From then on, it is new (monotonic). */
  readonly newFrom?: number | undefined;
}

/** How long a replacement is tried again at once, because the Node has no route meanwhile. Later attempts need a proof, as any other. */
const replacementTime: Milliseconds = seconds(45);

/** A Node that gets the range within this time may get the route that was requested for another one. */
const lateCreation: Milliseconds = minutes(1);

/**
 * A request of a former leader has had its effect by then, or never has one. Without this limit, doubt about other routes would hold the route
 * of a new Node for ever.
 */
const lateCreationOfOthers: Milliseconds = minutes(10);

const there: Known = { certainty: "exists", proofs: [] };
const taken: Known = { ...there, isTaken: true };
const unknown: Known = { proofs: [] };

export class RouteEvidence {
  /** Without a certainty, its absence is no surprise: Fairlead removed it to replace it, or its Node has just got the range. */
  readonly #known = new Map<string, Known>();
  /**
   * When the last request was sent that may have created a route to this destination (monotonic). It may take effect later, whatever
   * happens to its Node.
   */
  readonly #uncertain = new Map<Cidr, number>();
  readonly #ruleFor: (key: string) => ProofRule;
  readonly #clock: Clock;

  /** What a proof takes may change while the process runs. */
  constructor(ruleFor: (key: string) => ProofRule, clock: Clock) {
    this.#ruleFor = ruleFor;
    this.#clock = clock;
  }

  /**
   * A leadership session begins, or goes on with current caches: every proof starts again. `nodes`, if another replica has led since: it may
   * have requested routes for these. A Node that joins later gets its route at once.
   */
  beginSession(nodes: readonly Node[] | undefined): void {
    const earlier = { proofs: [], isEarlier: true } as const;
    const newFrom = this.#clock.monotonic() + lateCreationOfOthers;
    for (const [key, { certainty, newFrom: before }] of this.#known) {
      const own = before === undefined || nodes === undefined ? before : newFrom;
      if (certainty === undefined) this.#known.delete(key);
      else this.#known.set(key, { ...earlier, certainty, newFrom: own });
    }
    for (const key of nodes?.flatMap(keysOf) ?? []) {
      if (!this.#known.has(key)) this.#known.set(key, { ...earlier, certainty: "possible", newFrom });
    }
  }

  /** Another account may answer from now on: every proof starts again. Returns whether a proof had begun. */
  restartProofs(): boolean {
    this.#uncertain.clear();
    const missing = [...this.#known].filter(([, { proofs }]) => proofs.length > 0);
    for (const [key, known] of missing) this.#known.set(key, { ...known, proofs: [] });
    return missing.length > 0;
  }

  /** The route exists. */
  noteThere(route: DesiredRoute): void {
    this.#known.set(keyOf(route), there);
    this.#uncertain.delete(route.destination);
  }

  /** The listing has other routes to its destination, which are to be replaced. */
  noteTaken(route: DesiredRoute): void {
    this.#known.set(keyOf(route), taken);
  }

  /** A listing has no route for the destination. `node` is the Node that needs it. */
  noteMissing(route: DesiredRoute, node: Node | undefined, listing: Omit<Proof, "kind">): void {
    const key = keyOf(route);
    const earlier = this.#known.get(key);
    const isShown = node !== undefined && hadRoutes(node);
    const seen = isShown && (earlier?.isEarlier ?? earlier === undefined) ? there : earlier;
    const sentAt = this.#uncertain.get(route.destination) ?? Number.NEGATIVE_INFINITY;
    const isPossible = seen?.certainty === undefined && this.#clock.monotonic() - sentAt < lateCreation;
    const known: Known | undefined = isPossible ? { proofs: [], ...seen, certainty: "possible" } : seen;
    if (known?.certainty === undefined) return;
    const proofs = addProof(known.proofs, { kind: "listing", ...listing });
    if (known !== earlier || proofs !== known.proofs) this.#known.set(key, { ...known, proofs });
  }

  /** Judges a route that the last listing does not show. */
  judge(route: DesiredRoute): Absence {
    return this.#judge(keyOf(route), this.#known.get(keyOf(route)) ?? unknown);
  }

  /** A Node that exists already may have got another range: its condition does not cover the route for it. */
  noteChange({ before, after }: Change<Node>): void {
    if (before === undefined) return;
    if (after?.metadata.uid !== before.metadata.uid) {
      // Also on a replica that never leads.
      for (const key of keysOf(before)) this.#known.delete(key);
      return;
    }
    if (before.spec.podCIDRs === after.spec.podCIDRs && before.spec.podCIDR === after.spec.podCIDR) return;
    const had = new Set(podRangesOf(before));
    for (const range of podRangesOf(after))
      if (!had.has(range)) this.#known.set(keyFor(range, after.metadata.uid), { proofs: [] });
  }

  /**
   * A route that was created was there, although the next listings may not show it yet. So may one whose creation failed without a clear
   * refusal, or that the cloud has accepted and not completed. `listedAt`: when the listing began that the changes were planned on.
   */
  noteResults(results: readonly ChangeResult[], listedAt: number): void {
    // First: in the place of what was removed, the same changes may have created another one.
    this.noteRemoved(
      results.flatMap(({ change, outcome }) =>
        change.do === "remove" && outcome.kind === "done" ? change.route : [],
      ),
      listedAt,
    );
    for (const { change, outcome } of results) {
      if (change.do !== "create") continue;
      if (outcome.kind === "done") this.noteThere(change.route);
      else if (outcome.kind === "pending") this.#notePossible(change.route);
      else if (outcome.kind === "failed" && !isRefusal(outcome.error)) this.noteUncertain(change.route);
    }
  }

  /**
   * These were removed. Those in the place of others that Nodes need were to be replaced; beside the right one, they were superfluous.
   * `at`: then they were still there (monotonic).
   */
  noteRemoved(routes: readonly Pick<ObservedRoute, "destination">[], at: number): void {
    const ranges = new Set<string>(routes.map(({ destination }) => destination));
    for (const [key, { isTaken }] of ranges.size === 0 ? [] : this.#known)
      if (isTaken === true && ranges.has(key.slice(0, key.indexOf(" "))))
        this.#known.set(key, { replacedAt: at, proofs: [] });
  }

  /** A request may have created it, and nothing but listings will show whether it did. */
  noteUncertain(route: DesiredRoute): void {
    this.#notePossible(route);
    this.#uncertain.set(route.destination, this.#clock.monotonic());
  }

  #notePossible(route: DesiredRoute): void {
    const { certainty, replacedAt } = this.#known.get(keyOf(route)) ?? unknown;
    this.#known.set(keyOf(route), defined({ certainty: certainty ?? "possible", proofs: [], replacedAt }));
  }

  /** The operation that was to create it has failed. */
  noteFailed(route: DesiredRoute): void {
    this.#uncertain.delete(route.destination);
    const { certainty, replacedAt } = this.#known.get(keyOf(route)) ?? unknown;
    if (certainty === "possible") this.#known.set(keyOf(route), defined({ proofs: [], replacedAt }));
  }

  /** Forgets routes that no Node needs any more. While a Node is paused, or its instance is not known, no proof goes on. */
  keepOnly({ routes, waiting, paused }: Pick<DesiredRoutes, "routes" | "waiting" | "paused">): void {
    const needed = new Set(routes.map(keyOf));
    const unchanged = new Set([...waiting, ...paused].flatMap(keysOf));
    for (const [key, known] of this.#known) {
      if (needed.has(key)) continue;
      if (!unchanged.has(key)) this.#known.delete(key);
      else if (known.proofs.length > 0) this.#known.set(key, { ...known, proofs: [] });
    }
  }

  /** When the first absence can be proved by another listing, monotonic. */
  get nextProof(): number | undefined {
    let next: number | undefined;
    for (const [key, known] of this.#known) {
      const at = awaited(this.#judge(key, known))?.at;
      if (at !== undefined && (next === undefined || at < next)) next = at;
    }
    return next;
  }

  /** When to list again what an uncertain request may have created late, monotonic. What was listed often enough is forgotten. */
  nextLateCheck(lastListing: number): number | undefined {
    let next: number | undefined;
    for (const [destination, sentAt] of this.#uncertain) {
      const at = nextLateCheck(sentAt, lastListing);
      if (at === undefined) this.#uncertain.delete(destination);
      else if (next === undefined || at < next) next = at;
    }
    return next;
  }

  #judge(key: string, known: Known): Absence {
    const { replacedAt } = known;
    if (replacedAt !== undefined && this.#clock.monotonic() - replacedAt < replacementTime)
      return { kind: "new" };
    const absence = judge(known, this.#ruleFor(key));
    const isOld = known.newFrom !== undefined && this.#clock.monotonic() >= known.newFrom;
    return isOld && awaited(absence) === undefined ? { kind: "new" } : absence;
  }
}

/** Another Node may take the name and the range. */
const keyFor = (destination: Cidr, uid: string): string => `${destination} for ${uid}`;
export const keyOf = ({ destination, target }: DesiredRoute): string => keyFor(destination, target.uid);

const keysOf = (node: Node): readonly string[] =>
  podRangesOf(node).map((range) => keyFor(range, node.metadata.uid));

/** Fairlead or a Go manager set the condition when all routes of the Node existed. */
export function hadRoutes({ status }: Node): boolean {
  const condition = status.conditions?.find(({ type }) => type === networkCondition);
  return condition?.status === "False" && condition.reason === "RouteCreated";
}

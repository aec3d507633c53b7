// A leadership session's evidence about the routes that Nodes need: whether each existed, since when listings lack it, and how
// often it was created without being listed. A single incorrect listing must not create thousands of routes a second time. There
// is one instance per table.

import { type Milliseconds, seconds } from "../../../core/brand.ts";
import { CloudError } from "../../../provider/errors.ts";
import type { DesiredRoute } from "../../../provider/routes.ts";
import { isRefusal } from "../../classify-error.ts";
import { lateEffect } from "../../kernel/creations.ts";
import type { Ledger } from "../../kernel/ledger.ts";
import { type Absence, awaited, type Certainty, isJustChanged, isLost, judge } from "../../kernel/proof.ts";
import { hadRoutes } from "../../node-facts.ts";
import { type ChangeOutcome, type ChangeResult, isRefusedAsBusy, leadsTo } from "../apply/open-changes.ts";
import type { TableOptions } from "../deps.ts";
import { routeKey, routeKeysOf } from "../history.ts";
import type { Survey } from "../plan/plan.ts";
import { inTable } from "../tables.ts";

/**
 * How long a replacement is retried immediately, because the Node has no route in the meantime. Later attempts need a proof, like any
 * other change.
 */
const replacementTime: Milliseconds = seconds(45);

const never = Number.NEGATIVE_INFINITY;

export class RouteEvidence {
  readonly #options: TableOptions;
  /** Routes whose destination leads to another target. Fairlead removes the existing route to replace it. */
  readonly #taken = new Set<string>();
  /**
   * When Fairlead removed the previous route to the destination: the start of the last listing that showed it, or the end of the
   * operation (monotonic).
   */
  readonly #replacedAt = new Map<string, number>();
  /** When the last listing began (monotonic). */
  #lastListing = 0;

  constructor(options: TableOptions) {
    this.#options = options;
  }

  /** Records a survey. Call this once per survey, before its changes are judged. */
  noteSurvey({ desired, listing, plan }: Survey): void {
    const { clock, history } = this.#options;
    const { beganAt, destinations } = listing;
    this.#lastListing = beganAt;
    this.#keepOnly(desired);
    const shown = new Set(
      listing.routes.flatMap(({ destination, isUnshown }) => (isUnshown === true ? [] : destination)),
    );
    for (const route of desired.routes)
      if (shown.has(route.destination)) history.creations.noteShown(keyOf(route));
    for (const route of [...plan.present, ...plan.undecided]) this.#noteThere(route);
    const knownAt = clock.monotonic();
    for (const route of plan.create) {
      if (destinations.has(route.destination)) {
        this.#ledgerOf(route).noteShown();
        this.#taken.add(keyOf(route));
      } else {
        this.#expect(route);
        history.ledgers.get(keyOf(route))?.noteLacking({ kind: "listing", beganAt, knownAt });
      }
    }
  }

  /** Whether a former leader, or a request for another Node, may have created a route that the listing lacks. */
  #expect(route: DesiredRoute): void {
    const { nodes, clock, history } = this.#options;
    const known = history.ledgers.get(keyOf(route));
    const node = nodes.get(route.target.node);
    const isRecorded = node?.metadata.uid === route.target.uid && hadRoutes(node);
    const now = clock.monotonic();
    const sentAt = history.uncertain.get(route.destination) ?? never;
    if (isRecorded && known?.isTrace !== false) this.#ledgerOf(route).expect("exists", now);
    // A Node that has just got the range may get the route that was requested for another Node.
    else if (known?.certainty === undefined && now - sentAt < lateEffect)
      this.#ledgerOf(route).noteChange(sentAt, "possible");
  }

  /** Judges a route that the last listing does not show. */
  judge(route: DesiredRoute): Absence {
    return this.#judge(keyOf(route));
  }

  /** Whether the absence of the route from the last listing counts for doubt. */
  isLost(route: DesiredRoute): boolean {
    return isLost(this.judge(route)) && !isJustChanged(this.#ledgerOf(route), this.#confirmAfter);
  }

  /** How often the route was created, if it must not be created again because no listing showed it. */
  unlisted(route: DesiredRoute): number | undefined {
    return this.#options.history.creations.countOf([keyOf(route)], leadsTo(route));
  }

  /** Identifies the creation of a route in the history of removals. */
  idOf(route: DesiredRoute): string {
    return this.#idFor(keyOf(route));
  }

  /**
   * A created route has existed, although the next listings may not show it yet. The same may apply to a creation that failed
   * without a clear rejection, or that the cloud has accepted but not completed. `listedAt`: the start of the listing on which
   * the changes were planned.
   */
  noteResults(results: readonly ChangeResult[], listedAt: number): void {
    const { history } = this.#options;
    for (const { change, outcome } of results)
      if (change.do === "create") this.#noteCreation(change.route, outcome);
    // Processed first, because the same changes may have created a replacement.
    this.#noteRemoved(
      results.flatMap(({ change, outcome }) =>
        change.do === "remove" && outcome.kind === "done" ? change.route.destination : [],
      ),
      listedAt,
    );
    for (const { change, outcome } of results) {
      if (change.do !== "create") continue;
      if (outcome.kind === "done") this.#noteRequest(change.route, "exists");
      else if (outcome.kind === "pending") this.#noteRequest(change.route, "possible");
      else if (mayHaveEffect(outcome)) this.#noteUncertain(change.route);
      else if (isRefusedAsBusy(outcome)) history.ledgers.get(keyOf(change.route))?.noteBusy();
    }
  }

  /** Called when the operation of a change has ended. */
  noteEnd({ change, outcome: { kind } }: ChangeResult): void {
    if (change.do === "remove") {
      // If a change with a lost result removed nothing, a listing will show that.
      if (kind !== "failed") this.#noteRemoved([change.route.destination], this.#options.clock.monotonic());
      return;
    }
    const { route } = change;
    const { creations, uncertain } = this.#options.history;
    if (kind === "done") this.#noteRequest(route, "exists");
    // Listings that lacked the route while the operation was running prove nothing.
    if (kind === "lost") this.#noteUncertain(route);
    if (kind !== "failed") return;
    creations.noteFailed(keyOf(route));
    uncertain.delete(route.destination);
    if (this.#ledgerOf(route).certainty === "possible") this.#ledgerOf(route).forget();
  }

  /** When another listing may prove an absence, or show what the last listing may have missed (monotonic). */
  get nextListing(): number {
    const { creations, uncertain, removedAt, ledgers } = this.#options.history;
    let next = creations.nextCheck(this.#confirmAfter, this.#lastListing) ?? Number.POSITIVE_INFINITY;
    const removalCheck = removedAt + this.#confirmAfter;
    if (removalCheck > this.#lastListing) next = Math.min(next, removalCheck);
    for (const key of ledgers.keys())
      next = Math.min(next, awaited(this.#judge(key))?.at ?? Number.POSITIVE_INFINITY);
    for (const [destination, sentAt] of uncertain)
      if (sentAt + lateEffect > this.#lastListing) next = Math.min(next, sentAt + lateEffect);
      else uncertain.delete(destination);
    return next;
  }

  get lastListing(): number {
    return this.#lastListing;
  }

  #noteThere(route: DesiredRoute): void {
    this.#ledgerOf(route).noteShown();
    this.#taken.delete(keyOf(route));
    this.#replacedAt.delete(keyOf(route));
    this.#options.history.uncertain.delete(route.destination);
  }

  #noteRequest(route: DesiredRoute, certainty: Certainty): void {
    this.#ledgerOf(route).noteChange(this.#options.clock.monotonic(), certainty);
    if (certainty === "exists") this.#noteThere(route);
    else this.#taken.delete(keyOf(route));
  }

  /** Called when a request may have created the route, and only listings will show whether it did. */
  #noteUncertain(route: DesiredRoute): void {
    const { clock, history } = this.#options;
    this.#noteRequest(route, "possible");
    history.uncertain.set(route.destination, clock.monotonic());
  }

  #noteCreation(route: DesiredRoute, outcome: ChangeOutcome): void {
    const { removals, clock, history } = this.#options;
    const isAnswered = outcome.kind === "done" || outcome.kind === "pending";
    if (!isAnswered && !mayHaveEffect(outcome)) return;
    // After a conflict, the cloud confirms that the route exists, unless a different object blocks it.
    const isAccepted = isAnswered || (isConflict(outcome) && isLost(this.judge(route)));
    // A release creates an unlisted route once more, whether or not the answer is lost.
    if (isAccepted || this.unlisted(route) !== undefined) removals.endRelease("routes", this.idOf(route));
    const what = keyOf(route);
    history.creations.begin();
    history.creations.note({ id: what, what, variant: leadsTo(route), at: clock.monotonic(), isAccepted });
  }

  /**
   * Routes to these destinations were removed. Removed routes in the place of needed routes were replaced; removed routes next to
   * the correct route were superfluous. `at`: when they still existed (monotonic).
   */
  #noteRemoved(destinations: readonly string[], at: number): void {
    if (destinations.length === 0) return;
    const { clock, history } = this.#options;
    history.removedAt = clock.monotonic();
    const ranges = new Set(destinations);
    for (const key of this.#taken) {
      if (!ranges.has(key.slice(0, key.indexOf(" ")))) continue;
      this.#taken.delete(key);
      this.#replacedAt.set(key, at);
      history.ledgers.of(key).forget();
    }
  }

  /**
   * Forgets routes that no Node needs. While a Node is paused or its instance is unknown, its proofs do not progress. Creations
   * count as long as the Node exists.
   */
  #keepOnly({ routes, unchanged }: Survey["desired"]): void {
    const { nodes, history } = this.#options;
    const needed = new Set(routes.map(keyOf));
    const kept = new Set(unchanged.flatMap(routeKeysOf));
    for (const [key, ledger] of history.ledgers) {
      if (needed.has(key)) continue;
      ledger.restartProofs();
      if (kept.has(key)) continue;
      for (const known of [history.ledgers, this.#taken, this.#replacedAt]) known.delete(key);
    }
    if (history.creations.isEmpty) return;
    const uids = new Set(nodes.list().map(({ metadata }) => metadata.uid));
    history.creations.keepOnly((key) => uids.has(key.slice(key.lastIndexOf(" ") + 1)));
  }

  #ledgerOf(route: DesiredRoute): Ledger {
    return this.#options.history.ledgers.of(keyOf(route));
  }

  #judge(key: string): Absence {
    const { clock, removals, history } = this.#options;
    const known = history.ledgers.get(key);
    const replacedAt = this.#replacedAt.get(key) ?? never;
    if (known === undefined || clock.monotonic() - replacedAt < replacementTime) return { kind: "new" };
    const restartedAt = removals.isReleased("routes", this.#idFor(key))
      ? undefined
      : history.limit.state.endedAt;
    return judge(known, { confirmAfter: this.#confirmAfter, kinds: ["listing"], restartedAt });
  }

  /** The required time between two listings that lack a route, which may change at run time. */
  get #confirmAfter(): Milliseconds {
    const { routes, settings } = this.#options;
    return routes.proofsApart(settings.confirmAfter);
  }

  #idFor(key: string): string {
    return `create ${key}${inTable(this.#options.table)}`;
  }
}

/** The request failed without a clear rejection. */
function mayHaveEffect(outcome: ChangeOutcome): boolean {
  return outcome.kind === "failed" && !isRefusal(outcome.error);
}

function isConflict(outcome: ChangeOutcome): boolean {
  return outcome.kind === "failed" && CloudError.is(outcome.error) && outcome.error.kind === "conflict";
}

const keyOf = ({ destination, target }: DesiredRoute): string => routeKey(destination, target.uid);

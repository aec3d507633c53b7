// What a leadership session knows about the routes that Nodes need: whether each was there, since when listings lack it, and how often it
// was created without being listed. One wrong listing must not create thousands of routes a second time. One for each table.

import { type Milliseconds, seconds } from "../../../core/brand.ts";
import { defined } from "../../../core/defined.ts";
import type { Node } from "../../../kube/objects.ts";
import type { Change } from "../../../kube/watch/store.ts";
import { CloudError } from "../../../provider/errors.ts";
import type { DesiredRoute } from "../../../provider/routes.ts";
import { isRefusal } from "../../classify-error.ts";
import { lateCheck, lateEffect } from "../../kernel/creations.ts";
import { type Absence, addProof, awaited, type Evidence, isLost, judge } from "../../kernel/proof.ts";
import { hadRoutes } from "../../node-facts.ts";
import { type ChangeOutcome, type ChangeResult, isRefusedAsBusy, leadsTo } from "../apply/open-changes.ts";
import type { TableOptions } from "../deps.ts";
import { addedKeys, type RecordedRoute, removedKeys, routeKey, routeKeysOf } from "../history.ts";
import type { Survey } from "../plan/plan.ts";
import { inTable } from "../tables.ts";

interface Known extends Evidence, Pick<RecordedRoute, "newFrom"> {
  /** What has its destination leads elsewhere, so Fairlead removes that to replace it. */
  readonly isTaken?: true;
  /** Fairlead removed it to replace it: when the listing began that showed it last, or when the operation ended (monotonic). */
  readonly replacedAt?: number | undefined;
  /** From an earlier session: another leader may have created it since, and the Node shows it then. */
  readonly isEarlier?: true;
  /** The cloud refused it as busy, and its proof has started again. */
  readonly wasBusy?: true;
}

/** How long a replacement is tried again at once, because the Node has no route meanwhile. Later attempts need a proof, as any other. */
const replacementTime: Milliseconds = seconds(45);

const there: Known = { certainty: "exists", proofs: [] };
const taken: Known = { ...there, isTaken: true };
const unknown: Known = { proofs: [] };

export class RouteEvidence {
  readonly #options: TableOptions;
  /**
   * What this session has learned. Without a certainty, the absence of a route is no surprise: Fairlead removed it to replace it, or its
   * Node has just got the range.
   */
  readonly #known = new Map<string, Known>();
  /** When the last listing began, monotonic. */
  #lastListing = 0;

  constructor(options: TableOptions) {
    this.#options = options;
  }

  /** Returns how to stop following the Nodes. */
  follow(): () => void {
    return this.#options.nodes.subscribe((change) => this.#noteNode(change));
  }

  /** Records a survey. Call it once for each, before its changes are judged. */
  noteSurvey({ desired, listing, plan }: Survey): void {
    const { nodes, clock, history } = this.#options;
    this.#lastListing = listing.beganAt;
    this.#keepOnly(desired);
    const shown = new Set(
      listing.routes.flatMap(({ destination, isUnshown }) => (isUnshown === true ? [] : destination)),
    );
    for (const route of desired.routes)
      if (shown.has(route.destination)) history.creations.noteShown(keyOf(route));
    for (const route of [...plan.present, ...plan.undecided]) this.#noteThere(route);
    const proof = { kind: "listing", beganAt: listing.beganAt, knownAt: clock.monotonic() } as const;
    for (const route of plan.create) {
      const key = keyOf(route);
      // The listing has other routes to its destination, which are to be replaced.
      if (listing.destinations.has(route.destination)) this.#set(key, taken);
      else {
        const known = this.#missing(route, nodes.get(route.target.node));
        if (known !== undefined) this.#set(key, { ...known, proofs: addProof(known.proofs, proof) });
      }
    }
  }

  /** What is known about a route that the listing lacks; undefined if nothing shows that it ever existed. */
  #missing(route: DesiredRoute, node: Node | undefined): Known | undefined {
    const { clock, history } = this.#options;
    const earlier = this.#get(keyOf(route));
    const isShown = node?.metadata.uid === route.target.uid && hadRoutes(node);
    const known = isShown && (earlier?.isEarlier ?? earlier === undefined) ? there : earlier;
    if (known?.certainty !== undefined) return known;
    const sentAt = history.uncertain.get(route.destination) ?? Number.NEGATIVE_INFINITY;
    // A Node that has just got the range may get the route that was requested for another one.
    const isPossible = clock.monotonic() - sentAt < lateEffect;
    return isPossible ? { proofs: [], ...known, certainty: "possible" } : undefined;
  }

  /** Judges a route that the last listing does not show. `holdEndedAt`: by the last decision of the mass limit, monotonic. */
  judge(route: DesiredRoute, holdEndedAt: number | undefined): Absence {
    return this.#judge(keyOf(route), this.#get(keyOf(route)) ?? unknown, holdEndedAt);
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
   * A route that was created was there, although the next listings may not show it yet. So may one whose creation failed without a clear
   * refusal, or that the cloud has accepted and not completed. `listedAt`: when the listing began that the changes were planned on.
   */
  noteResults(results: readonly ChangeResult[], listedAt: number): void {
    for (const { change, outcome } of results)
      if (change.do === "create") this.#noteCreation(change.route, outcome);
    // First: in the place of what was removed, the same changes may have created another one.
    this.#noteRemoved(
      results.flatMap(({ change, outcome }) =>
        change.do === "remove" && outcome.kind === "done" ? change.route.destination : [],
      ),
      listedAt,
    );
    for (const { change, outcome } of results) {
      if (change.do !== "create") continue;
      if (outcome.kind === "done") this.#noteThere(change.route);
      else if (outcome.kind === "pending") this.#notePossible(change.route);
      else if (mayHaveEffect(outcome)) this.#noteUncertain(change.route);
      else if (isRefusedAsBusy(outcome)) this.#restart(change.route);
    }
  }

  /** The operation of a change has ended. */
  noteEnd({ change, outcome: { kind } }: ChangeResult): void {
    if (change.do === "remove") {
      // If a lost one removed nothing, a listing shows that.
      if (kind !== "failed") this.#noteRemoved([change.route.destination], this.#options.clock.monotonic());
      return;
    }
    const { route } = change;
    const { creations, uncertain } = this.#options.history;
    if (kind === "done") this.#noteThere(route);
    // What listings lacked while it was running proves nothing.
    if (kind === "lost") this.#noteUncertain(route);
    if (kind !== "failed") return;
    creations.noteFailed(keyOf(route));
    uncertain.delete(route.destination);
    const { certainty, replacedAt } = this.#get(keyOf(route)) ?? unknown;
    if (certainty === "possible") this.#set(keyOf(route), defined({ proofs: [], replacedAt }));
  }

  /** When another listing may prove an absence, or show what the last one may not have shown yet, monotonic. */
  nextListing(holdEndedAt: number | undefined): number {
    const { creations, uncertain, removedAt } = this.#options.history;
    let next = creations.nextCheck(this.#confirmAfter, this.#lastListing) ?? Number.POSITIVE_INFINITY;
    const removalCheck = removedAt + this.#confirmAfter;
    if (removalCheck > this.#lastListing) next = Math.min(next, removalCheck);
    for (const [key, known] of this.#known)
      next = Math.min(next, awaited(this.#judge(key, known, holdEndedAt))?.at ?? Number.POSITIVE_INFINITY);
    for (const [destination, sentAt] of uncertain) {
      const at = lateCheck(sentAt, this.#lastListing);
      // It was checked, so it is forgotten.
      if (at === undefined) uncertain.delete(destination);
      else next = Math.min(next, at);
    }
    return next;
  }

  get lastListing(): number {
    return this.#lastListing;
  }

  #noteThere(route: DesiredRoute): void {
    this.#set(keyOf(route), there);
    this.#options.history.uncertain.delete(route.destination);
  }

  /** A request may have created it, and nothing but listings will show whether it did. */
  #noteUncertain(route: DesiredRoute): void {
    const { clock, history } = this.#options;
    this.#notePossible(route);
    history.uncertain.set(route.destination, clock.monotonic());
  }

  #notePossible(route: DesiredRoute): void {
    const { certainty, replacedAt } = this.#get(keyOf(route)) ?? unknown;
    this.#set(keyOf(route), defined({ certainty: certainty ?? "possible", proofs: [], replacedAt }));
  }

  /**
   * The cloud is busy, perhaps with this route for a former leader. Listings so far do not prove that the route is absent. A route that is
   * refused again is a failure that is reported, not a new doubt.
   */
  #restart(route: DesiredRoute): void {
    const known = this.#get(keyOf(route));
    if (known?.certainty === undefined || known.wasBusy === true) return;
    this.#set(keyOf(route), { ...known, proofs: [], wasBusy: true });
  }

  #noteCreation(route: DesiredRoute, outcome: ChangeOutcome): void {
    const { removals, clock, history } = this.#options;
    const isAnswered = outcome.kind === "done" || outcome.kind === "pending";
    if (!isAnswered && !mayHaveEffect(outcome)) return;
    // After a conflict, the cloud says that the route exists, unless something else is in the way of a new one.
    const isAccepted = isAnswered || (isConflict(outcome) && isLost(this.judge(route, undefined)));
    // A release creates a route that listings do not show once more, whether or not the answer is lost.
    if (isAccepted || this.unlisted(route) !== undefined) removals.endRelease("routes", this.idOf(route));
    const what = keyOf(route);
    history.creations.begin();
    history.creations.note({ id: what, what, variant: leadsTo(route), at: clock.monotonic(), isAccepted });
  }

  /**
   * Routes to these destinations were removed. Those in the place of others that Nodes need were to be replaced; beside the right one,
   * they were superfluous. `at`: then they were still there (monotonic).
   */
  #noteRemoved(destinations: readonly string[], at: number): void {
    if (destinations.length === 0) return;
    const { clock, history } = this.#options;
    history.removedAt = clock.monotonic();
    const ranges = new Set(destinations);
    for (const [key, { isTaken }] of this.#known)
      if (isTaken === true && ranges.has(key.slice(0, key.indexOf(" "))))
        this.#set(key, { replacedAt: at, proofs: [] });
  }

  /** A Node that exists already may have got another range: its condition does not cover the route for it. */
  #noteNode(change: Change<Node>): void {
    for (const key of removedKeys(change)) this.#delete(key);
    for (const key of addedKeys(change)) this.#set(key, unknown);
  }

  /**
   * Forgets routes that no Node needs any more. While a Node is paused, or its instance is not known, no proof goes on. Creations count
   * as long as the Node exists.
   */
  #keepOnly({ routes, unchanged }: Survey["desired"]): void {
    const { nodes, history } = this.#options;
    const needed = new Set(routes.map(keyOf));
    const kept = new Set(unchanged.flatMap(routeKeysOf));
    for (const key of history.keys) if (!needed.has(key) && !kept.has(key)) history.forget(key);
    for (const [key, known] of this.#known) {
      if (needed.has(key)) continue;
      if (!kept.has(key)) this.#known.delete(key);
      else if (known.proofs.length > 0) this.#known.set(key, { ...known, proofs: [] });
    }
    if (history.creations.isEmpty) return;
    const uids = new Set(nodes.list().map(({ metadata }) => metadata.uid));
    history.creations.keepOnly((key) => uids.has(key.slice(key.lastIndexOf(" ") + 1)));
  }

  #get(key: string): Known | undefined {
    const recorded = this.#options.history.recorded(key);
    return this.#known.get(key) ?? (recorded && { ...recorded, proofs: [], isEarlier: true });
  }

  #set(key: string, known: Known): void {
    this.#known.set(key, known);
    this.#options.history.record(key, known);
  }

  #delete(key: string): void {
    this.#known.delete(key);
    this.#options.history.forget(key);
  }

  #judge(key: string, known: Known, holdEndedAt: number | undefined): Absence {
    const { clock, removals } = this.#options;
    const now = clock.monotonic();
    const { replacedAt, newFrom } = known;
    if (replacedAt !== undefined && now - replacedAt < replacementTime) return { kind: "new" };
    const restartedAt = removals.isReleased("routes", this.#idFor(key)) ? undefined : holdEndedAt;
    const absence = judge(known, { confirmAfter: this.#confirmAfter, kinds: ["listing"], restartedAt });
    const isOld = newFrom !== undefined && now >= newFrom;
    return isOld && awaited(absence) === undefined ? { kind: "new" } : absence;
  }

  /** How far apart two listings must be that lack a route. It may change while the process runs. */
  get #confirmAfter(): Milliseconds {
    const { routes, settings } = this.#options;
    return routes.proofsApart(settings.confirmAfter);
  }

  #idFor(key: string): string {
    return `create ${key}${inTable(this.#options.table)}`;
  }
}

/** The request failed, but not with a clear refusal. */
function mayHaveEffect(outcome: ChangeOutcome): boolean {
  return outcome.kind === "failed" && !isRefusal(outcome.error);
}

function isConflict(outcome: ChangeOutcome): boolean {
  return outcome.kind === "failed" && CloudError.is(outcome.error) && outcome.error.kind === "conflict";
}

const keyOf = ({ destination, target }: DesiredRoute): string => routeKey(destination, target.uid);

// Decides which changes of a plan may be sent. Changes that follow from an absent Node or route need proof, count towards the
// mass limit, and are recorded before they are sent; all other changes may always be sent. There is one guard per table.

import { type Cidr, type Milliseconds, minutes } from "../../../core/brand.ts";
import { cidrFamily } from "../../../core/cidr.ts";
import { type Counted, Doubt, type Held, isListingBelieved } from "../../kernel/doubt.ts";
import { awaited } from "../../kernel/proof.ts";
import { hadRoutes, podRangesOf } from "../../node-facts.ts";
import type { TableOptions } from "../deps.ts";
import { isInsideCluster } from "../desired/cluster-cidrs.ts";
import type { RouteHistory } from "../history.ts";
import type { Survey } from "../plan/plan.ts";
import { inTable } from "../tables.ts";
import {
  type CandidateChange,
  censusOf,
  type JudgedChange,
  verdictOn,
  withoutBlocked,
} from "./allowed-changes.ts";
import { RouteEvidence } from "./route-evidence.ts";

/** The interval between listings while the limit holds changes. */
const heldRecheck: Milliseconds = minutes(1);

/** State that the guards of all tables share. */
export type SharedEvidence = Pick<RouteHistory, "deletions" | "tableOfRemoval">;

export interface Guarded {
  /** The survey, reduced to the changes that may be sent. */
  readonly survey: Survey;
  readonly judged: readonly JudgedChange[];
  readonly held: Held | undefined;
}

export class RouteGuard {
  readonly #options: TableOptions;
  readonly #shared: SharedEvidence;
  readonly #doubt: Doubt;
  /** The counted objects of the last survey. */
  #counted: ReadonlyMap<string, Counted> = new Map();
  readonly evidence: RouteEvidence;
  /** Changes held by the mass limit, or because listings do not show created routes. */
  #held: readonly CandidateChange[] = [];

  constructor(options: TableOptions, shared: SharedEvidence) {
    this.#options = options;
    this.#shared = shared;
    const { history } = options;
    this.#doubt = new Doubt({
      ...options,
      kind: "routes",
      census: { keys: () => this.#counted.keys(), of: (key) => this.#counted.get(key) },
      memory: history.limit,
      recent: () => this.#recent,
      // If there are fewer Nodes than routes without a Node, this is a different cluster, or one that was restored empty, however
      // small it is.
      mostVanished: 0.5,
    });
    this.evidence = new RouteEvidence(options);
  }

  /** When another listing may prove an absence, or show that the cloud has recovered (monotonic). */
  get nextListing(): number {
    const { lastListing } = this.evidence;
    return this.#held.length > 0 ? lastListing + heldRecheck : this.evidence.nextListing;
  }

  /**
   * Judges the changes of a survey, and stores the removals before they may be sent. Returns "decide again" if data was stored:
   * storing takes time, so all changes must be judged again with the latest data. Throws if storing fails.
   */
  async limit(survey: Survey): Promise<Guarded | "decide again"> {
    const { desired, listing } = survey;
    const { history } = this.#options;
    this.evidence.noteSurvey(survey);
    const needed = new Set(desired.routes.map(({ destination }) => destination));
    const candidates = this.#candidatesOf(survey, needed);
    this.#endReleases(candidates);
    const unchanged = this.#absentOfUnchanged(survey);
    const { counted, lost, lacking } = censusOf(candidates, {
      unplanned: new Set([...unchanged, ...history.doubted]).difference(listing.destinations),
      // Excludes Nodes of other clouds and managers, because the limit is a share of this manager's Nodes.
      managed: needed.union(new Set(desired.unchanged.flatMap(podRangesOf))),
    });
    this.#counted = counted;
    this.#doubt.invalidate();
    const { held } = this.#doubt.verdict();
    const isHeld = held !== undefined;
    const judged = candidates.map((candidate): JudgedChange => {
      const { route } = candidate;
      const wasHeld = history.held.has(candidate.id);
      const isProved = route === undefined || awaited(this.evidence.judge(route)) === undefined;
      return {
        ...candidate,
        verdict: verdictOn(candidate, {
          isProved,
          wasHeld,
          isHeld,
          isListingBelieved: held !== undefined && isListingBelieved(held),
        }),
      };
    });
    // A doubt ends when no needed route is absent or a listing shows the route, but not because Nodes were deleted in the meantime.
    if (isHeld && lost.length > 0) history.doubted = lacking;
    else if (unchanged.length === 0) history.doubted = new Set();
    else history.doubted = history.doubted.difference(listing.destinations);
    this.#hold(judged.filter(({ verdict }) => verdict === "held" || verdict === "unlisted"));
    const ids = judged.flatMap(({ id, verdict, isCounted, isReleased }) =>
      verdict === "ready" && isCounted && !isReleased ? id : [],
    );
    for (const id of ids) this.#shared.tableOfRemoval.set(id, this.#options.table);
    if (ids.length > 0 && (await this.#doubt.record(ids)) === "decide again") return "decide again";
    return { survey: withoutBlocked(survey, judged), judged, held };
  }

  /** `needed`: the ranges that need a route in this table. */
  #candidatesOf({ desired, listing, plan }: Survey, needed: ReadonlySet<Cidr>): readonly CandidateChange[] {
    const missing = plan.create.flatMap((route): readonly CandidateChange[] => {
      // The route replaces another route.
      if (listing.destinations.has(route.destination)) return [];
      const absence = this.evidence.judge(route);
      const unlisted = this.evidence.unlisted(route);
      if (absence.kind === "new" && unlisted === undefined) return [];
      const { destination } = route;
      const state = this.#stateOf(this.evidence.idOf(route));
      return [
        { ...state, destination, route, absent: "route", isCounted: this.evidence.isLost(route), unlisted },
      ];
    });
    const unneeded = plan.remove.flatMap(
      ({ destination, handle, leadsNowhere }): readonly CandidateChange[] => {
        // A route to an instance that is gone serves no Node.
        const isExpected = leadsNowhere === true || this.#shared.deletions.has(destination);
        if (needed.has(destination) || isExpected) return [];
        const absent = desired.notServed.has(destination) ? "table" : "node";
        const state = this.#stateOf(`remove ${handle}${inTable(this.#options.table)}`);
        return [{ ...state, destination, absent, isCounted: true }];
      },
    );
    return [...missing, ...unneeded];
  }

  #stateOf(id: string): Pick<CandidateChange, "id" | "isRecorded" | "isReleased"> {
    const { removals } = this.#options;
    return { id, isRecorded: removals.has("routes", id), isReleased: removals.isReleased("routes", id) };
  }

  /** A release does not apply to a route that reappears and is absent later. */
  #endReleases(candidates: readonly CandidateChange[]): void {
    const { removals, history } = this.#options;
    const absent = new Set(candidates.map(({ id }) => id));
    for (const id of history.absent) if (!absent.has(id)) removals.endRelease("routes", id);
    history.absent = absent;
  }

  /**
   * Absent routes without a planned change, because their Nodes are paused or have no known instance. They prove that the listing
   * is incorrect: an empty account lacks both instances and routes. With several tables, the Node's condition does not show which
   * tables had its routes.
   */
  #absentOfUnchanged({ desired, listing }: Survey): readonly Cidr[] {
    const { routes, clusterCIDRs, table } = this.#options;
    if (table !== undefined) return [];
    const isAbsent = (range: Cidr): boolean =>
      routes.families.includes(cidrFamily(range)) &&
      isInsideCluster(clusterCIDRs, range) &&
      !listing.destinations.has(range);
    return desired.unchanged.filter(hadRoutes).flatMap(podRangesOf).filter(isAbsent);
  }

  /** The recent removals that count for this table. */
  get #recent(): number {
    const { removals, table } = this.#options;
    let others = 0;
    for (const [id, itsTable] of this.#shared.tableOfRemoval) {
      if (!removals.has("routes", id)) this.#shared.tableOfRemoval.delete(id);
      else if (itsTable !== table) others += 1;
    }
    return removals.count("routes") - others;
  }

  #hold(held: readonly CandidateChange[]): void {
    const { removals, table, history } = this.#options;
    for (const id of history.held) removals.endHold("routes", id);
    for (const { id, destination } of held) removals.hold("routes", id, `${destination}${inTable(table)}`);
    this.#held = held;
    history.held = new Set(held.map(({ id }) => id));
  }
}

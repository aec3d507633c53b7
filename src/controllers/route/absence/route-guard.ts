// Holds back route changes that follow from something absent: until the absence is proved, and while there are too many of them.
// Remembers those that may be sent before they are sent. One for each table.

import type { Cidr, Milliseconds } from "../../../core/brand.ts";
import type { Node } from "../../../kube/objects.ts";
import { CloudError } from "../../../provider/errors.ts";
import type { DesiredRoute } from "../../../provider/routes.ts";
import { Creations } from "../../absence/creations.ts";
import { MassLimit } from "../../absence/mass-limit.ts";
import { awaited, isLost, type ProofRule } from "../../absence/proof.ts";
import { isRefusal } from "../../classify-error.ts";
import type { TableOptions } from "../deps.ts";
import { podRangesOf } from "../desired/plan-desired.ts";
import { type ChangeOutcome, type ChangeResult, leadsTo, type RouteChange } from "../plan/route-change.ts";
import type { Survey } from "../plan/survey.ts";
import { inTable } from "../tables.ts";
import {
  absentOfUnchanged,
  type Candidate,
  countChanges,
  type LimitedChanges,
  limitChanges,
} from "./allowed-changes.ts";
import { keyOf, RouteEvidence } from "./route-evidence.ts";
import type { SharedEvidence } from "./shared-evidence.ts";

type RouteGuardOptions = Pick<
  TableOptions,
  "nodes" | "table" | "routes" | "clusterCIDRs" | "clock" | "settings" | "removals" | "formerLeaders"
>;

export interface Guarded {
  readonly survey: Survey;
  readonly limited: LimitedChanges;
}

export class RouteGuard {
  readonly #options: RouteGuardOptions;
  readonly #shared: SharedEvidence;
  readonly #evidence: RouteEvidence;
  readonly #limit: MassLimit;
  readonly #creations = new Creations();
  /** What the last listing lacked, if it was doubted: also of Nodes that were deleted since, or whose range another Node has now. */
  #doubted: ReadonlySet<Cidr> = new Set();
  /** By the mass limit, or because listings do not show what was created. */
  #held: readonly Candidate[] = [];
  /** What the last survey would change because something is absent, by id. */
  #absent: ReadonlySet<string> = new Set();
  #lastListing = 0;
  #formerLeaders = 0;
  /** When a route was last removed, monotonic. A removal may have had no effect, whatever the cloud answered. */
  #removedAt = Number.NEGATIVE_INFINITY;

  /** Follows the Nodes for the life of the process. */
  constructor(options: RouteGuardOptions, shared: SharedEvidence) {
    this.#options = options;
    this.#shared = shared;
    const { settings, removals, clock, table } = options;
    this.#limit = new MassLimit({ kind: "routes", settings, removals, clock });
    const ruleFor = (key: string): ProofRule => ({
      confirmAfter: this.#confirmAfter,
      kinds: ["listing"],
      restartedAt: this.#limit.restartedFor(creationId(key, table)),
    });
    this.#evidence = new RouteEvidence(ruleFor, clock);
    options.nodes.subscribe((change) => this.#evidence.noteChange(change));
  }

  begin(): void {
    const { nodes } = this.#options;
    const formerLeaders = this.#options.formerLeaders();
    this.#evidence.beginSession(formerLeaders > this.#formerLeaders ? nodes.list() : undefined);
    this.#formerLeaders = formerLeaders;
    this.#doubted = new Set();
    this.#limit.begin();
    this.#held = [];
  }

  /** Returns whether anything must be proved again. */
  forgetEvidence(): boolean {
    const [hadCreations, hadProofs] = [this.#creations.clear(), this.#evidence.restartProofs()];
    return hadCreations || hadProofs;
  }

  end(): void {
    this.#hold([]);
  }

  /** When another listing may prove an absence or show that the cloud has recovered, monotonic. */
  get nextListing(): number | undefined {
    const { settings } = this.#options;
    if (this.#held.length > 0) return this.#lastListing + settings.heldRecheck;
    const check = this.#creations.nextCheck(this.#confirmAfter, this.#lastListing);
    const removalCheck = this.#removedAt + this.#confirmAfter;
    const due = [
      check,
      this.#evidence.nextProof,
      this.#evidence.nextLateCheck(this.#lastListing),
      removalCheck > this.#lastListing ? removalCheck : undefined,
    ].filter((at) => at !== undefined);
    return due.length === 0 ? undefined : Math.min(...due);
  }

  /**
   * The survey with only the changes that may be sent, which are stored by then. Storing takes time, so everything must be decided again
   * on what is known then. Throws if they cannot be stored.
   */
  async limit(survey: Survey): Promise<Guarded | "decide again"> {
    const { table } = this.#options;
    const candidates = this.#candidatesOf(survey);
    const { routes, waiting, paused } = survey.desired;
    // Without the Nodes of other clouds and managers: the limit is a share of what this manager has.
    const unchangedRanges = [...waiting, ...paused].flatMap(podRangesOf);
    const needed = new Set([...routes.map(({ destination }) => destination), ...unchangedRanges]);
    const recent = this.#shared.recent.recentIn(table);
    const listed = new Set(survey.listing.routes.map(({ destination }) => destination));
    const unchanged = table === undefined ? absentOfUnchanged(survey.desired, listed, this.#options) : [];
    const unplanned = new Set([...unchanged, ...this.#doubted].filter((range) => !listed.has(range)));
    const counted = countChanges(candidates, { recent, unplanned, needed });
    // The decision may end a hold, and the proofs start again then.
    const decision = this.#limit.decide(counted.counts);
    const desired = new Map(routes.map((route) => [route.destination, route] as const));
    const limited = limitChanges(candidates, counted, decision, ({ absent, destination }) => {
      const route = desired.get(destination);
      return absent !== "route" || route === undefined || awaited(this.#evidence.judge(route)) === undefined;
    });
    // A doubt ends when nothing is absent that a Node needs, or a listing shows it, not because Nodes were deleted meanwhile.
    if (limited.doubted.size > 0 || unchanged.length === 0) this.#doubted = limited.doubted;
    else this.#doubted = this.#doubted.difference(listed);
    this.#hold([...limited.held, ...limited.unlisted]);
    this.#lastListing = survey.listing.beganAt;
    const sent = limited.ready.filter(({ isCounted, isReleased }) => isCounted && !isReleased);
    const ids = sent.map(({ id }) => id);
    this.#shared.recent.note(table, ids);
    if (ids.length > 0 && (await this.#limit.record(ids)) === "decide again") return "decide again";
    return { survey: withoutBlocked(survey, limited.blocked), limited };
  }

  noteResults({ listing }: Survey, results: readonly ChangeResult[]): void {
    for (const { change, outcome } of results) {
      if (change.do === "create") this.#noteCreation(change.route, outcome);
      else if (outcome.kind === "done") this.#removedAt = this.#options.clock.monotonic();
    }
    this.#evidence.noteResults(results, listing.beganAt);
  }

  /** The operation of a change has ended. `lost`: the cloud does not say how. */
  noteOperation(change: RouteChange, result: "done" | "failed" | "lost"): void {
    if (change.do === "remove") {
      if (result === "failed") return;
      // If a lost one removed nothing, a listing shows that.
      this.#removedAt = this.#options.clock.monotonic();
      this.#evidence.noteRemoved([change.route], this.#removedAt);
      return;
    }
    const { route } = change;
    if (result === "done") this.#evidence.noteThere(route);
    // What listings lacked while it was running proves nothing.
    if (result === "lost") this.#evidence.noteUncertain(route);
    if (result !== "failed") return;
    this.#creations.noteFailed(keyOf(route));
    this.#evidence.noteFailed(route);
  }

  #noteCreation(route: DesiredRoute, outcome: ChangeOutcome): void {
    const { removals, table, clock } = this.#options;
    const effect = this.#effectOf(route, outcome);
    if (effect === undefined) return;
    // A release creates a route that listings do not show once more, whether or not the answer is lost.
    const wasUnlisted = this.#unlisted(route) !== undefined;
    if (effect === "accepted" || wasUnlisted) removals.endRelease("routes", creationId(keyOf(route), table));
    const what = keyOf(route);
    this.#creations.begin();
    this.#creations.note({
      ...{ id: what, what, variant: leadsTo(route) },
      at: clock.monotonic(),
      isAccepted: effect === "accepted",
    });
  }

  /** How often the route was created, if it must not be created again because no listing showed it. */
  #unlisted(route: DesiredRoute): number | undefined {
    return this.#creations.countOf([keyOf(route)], leadsTo(route));
  }

  /** `uncertain`: the request failed, but it may have had an effect. */
  #effectOf(route: DesiredRoute, outcome: ChangeOutcome): "accepted" | "uncertain" | undefined {
    if (outcome.kind === "done" || outcome.kind === "pending") return "accepted";
    if (outcome.kind !== "failed" || isRefusal(outcome.error)) return undefined;
    if (!CloudError.is(outcome.error) || outcome.error.kind !== "conflict") return "uncertain";
    // The cloud says that the route exists, unless something else is in the way of a new one.
    return isLost(this.#evidence.judge(route)) ? "accepted" : "uncertain";
  }

  #hold(held: readonly Candidate[]): void {
    const { removals, table } = this.#options;
    for (const { id } of this.#held) removals.endHold("routes", id);
    for (const { id, destination } of held) removals.hold("routes", id, `${destination}${inTable(table)}`);
    this.#held = held;
  }

  #candidatesOf({ desired, listing, plan }: Survey): readonly Candidate[] {
    const { nodes, clock, table } = this.#options;
    const knownAt = clock.monotonic();
    this.#evidence.keepOnly(desired);
    this.#forgetCreations();
    const shown = new Set(
      listing.routes.flatMap(({ destination, isUnshown }) => (isUnshown === true ? [] : destination)),
    );
    for (const route of desired.routes)
      if (shown.has(route.destination)) this.#creations.noteShown(keyOf(route));
    for (const route of [...plan.present, ...plan.undecided]) this.#evidence.noteThere(route);
    const listed = new Set(listing.routes.map(({ destination }) => destination));
    const missing = plan.create.flatMap((route): readonly Candidate[] => {
      if (listed.has(route.destination)) {
        this.#evidence.noteTaken(route);
        return [];
      }
      const node = ownerOf(route, nodes.get(route.target.node));
      this.#evidence.noteMissing(route, node, { beganAt: listing.beganAt, knownAt });
      const absence = this.#evidence.judge(route);
      const unlisted = this.#unlisted(route);
      if (absence.kind === "new" && unlisted === undefined) return [];
      const id = creationId(keyOf(route), table);
      return [this.#candidate(id, { ...route, absent: "route", isCounted: isLost(absence), unlisted })];
    });
    const needed = new Set(desired.routes.map(({ destination }) => destination));
    const unneeded = plan.remove.flatMap(({ destination, handle, leadsNowhere }): readonly Candidate[] => {
      // A route to an instance that no longer exists serves no Node.
      const isExpected = leadsNowhere === true || this.#shared.deletions.has(destination);
      if (needed.has(destination) || isExpected) return [];
      const absent = desired.notServed.has(destination) ? "table" : "node";
      const id = `remove ${handle}${inTable(table)}`;
      return [this.#candidate(id, { destination, absent, isCounted: true })];
    });
    const candidates = [...missing, ...unneeded];
    this.#endReleases(candidates);
    return candidates;
  }

  /** Those of Nodes that no longer exist. */
  #forgetCreations(): void {
    if (this.#creations.isEmpty) return;
    const uids = new Set(this.#options.nodes.list().map(({ metadata }) => metadata.uid));
    this.#creations.keepOnly((key) => uids.has(key.slice(key.lastIndexOf(" ") + 1)));
  }

  get #confirmAfter(): Milliseconds {
    const { routes, settings } = this.#options;
    return routes.proofsApart(settings.confirmAfter);
  }

  /** A release does not cover what is there again, and absent later. */
  #endReleases(candidates: readonly Candidate[]): void {
    const absent = new Set(candidates.map(({ id }) => id));
    for (const id of this.#absent) if (!absent.has(id)) this.#options.removals.endRelease("routes", id);
    this.#absent = absent;
  }

  #candidate(
    id: string,
    { destination, absent, isCounted, unlisted }: Omit<Candidate, "id" | "isRecorded" | "isReleased">,
  ): Candidate {
    const { removals } = this.#options;
    const [isRecorded, isReleased] = [removals.has("routes", id), removals.isReleased("routes", id)];
    return { id, destination, absent, isCounted, isRecorded, isReleased, unlisted };
  }
}

/** `key` is that of the evidence. */
const creationId = (key: string, table: TableOptions["table"]): string => `create ${key}${inTable(table)}`;

function ownerOf({ target }: DesiredRoute, node: Node | undefined): Node | undefined {
  return node?.metadata.uid === target.uid ? node : undefined;
}

/** Blocked routes count as undecided, so that the conditions of their Nodes stay as they are. */
function withoutBlocked(survey: Survey, blocked: readonly Candidate[]): Survey {
  if (blocked.length === 0) return survey;
  const isBlocked = new Set(blocked.map(({ destination }) => destination));
  const { plan } = survey;
  const maySend = ({ destination }: { readonly destination: Cidr }): boolean => !isBlocked.has(destination);
  return {
    ...survey,
    plan: {
      ...plan,
      remove: plan.remove.filter(maySend),
      create: plan.create.filter(maySend),
      undecided: [...plan.undecided, ...plan.create.filter((route) => !maySend(route))],
    },
  };
}

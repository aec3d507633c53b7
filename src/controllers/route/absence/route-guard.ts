// Holds back route changes that follow from something absent: until the absence is proved, and while there are too many of them.
// Remembers those that may be sent before they are sent. One for each table.

import type { Cidr, Milliseconds } from "../../../core/brand.ts";
import type { Node } from "../../../kube/objects.ts";
import { CloudError } from "../../../provider/errors.ts";
import type { DesiredRoute } from "../../../provider/routes.ts";
import { isRefusal } from "../../errors.ts";
import type { TableOptions } from "../deps.ts";
import type { ChangeOutcome, ChangeResult, RouteChange } from "../plan/changes.ts";
import type { Survey } from "../plan/survey.ts";
import { inTable } from "../tables.ts";
import { type Candidate, type LimitedChanges, limitChanges } from "./limit-changes.ts";
import { RouteEvidence } from "./route-evidence.ts";
import type { SeenDeletions } from "./seen-deletions.ts";
import type { TableRemovals } from "./table-removals.ts";
import { type CreationEffect, UnlistedCreations } from "./unlisted-creations.ts";
import { UnplannedAbsence } from "./unplanned-absence.ts";

type RouteGuardOptions = Pick<
  TableOptions,
  "nodes" | "table" | "routes" | "clusterCIDRs" | "clock" | "settings" | "removals"
>;

/** What the guards of all tables share. */
export interface SharedEvidence {
  readonly deletions: SeenDeletions;
  readonly recent: TableRemovals;
}

export interface Guarded {
  readonly survey: Survey;
  readonly limited: LimitedChanges;
}

export class RouteGuard {
  readonly #options: RouteGuardOptions;
  readonly #shared: SharedEvidence;
  readonly #evidence: RouteEvidence;
  readonly #unplanned: UnplannedAbsence;
  readonly #creations = new UnlistedCreations();
  /** By the mass limit, or because listings do not show what was created. */
  #held: readonly Candidate[] = [];
  /** What the last survey would change because something is absent, by id. */
  #absent: ReadonlySet<string> = new Set();
  #lastListing = 0;
  /** How many routes there were when the hold began. */
  #totalAtStart: number | undefined;

  /** Follows the Nodes for the life of the process. */
  constructor(options: RouteGuardOptions, shared: SharedEvidence) {
    this.#options = options;
    this.#shared = shared;
    this.#evidence = new RouteEvidence(() => confirmAfterOf(options));
    this.#unplanned = new UnplannedAbsence(options);
    options.nodes.subscribe((change) => this.#evidence.noteChange(change));
  }

  begin(): void {
    this.#evidence.beginSession();
    this.#unplanned.begin();
    this.#held = [];
    this.#totalAtStart = undefined;
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
    const check = this.#creations.nextCheck(confirmAfterOf(this.#options), this.#lastListing);
    const due = [check, this.#evidence.nextProof].filter((at) => at !== undefined);
    return due.length === 0 ? undefined : Math.min(...due);
  }

  /** The survey with only the changes that may be sent, which are stored by then. Throws if they cannot be stored. */
  async limit(survey: Survey): Promise<Guarded> {
    const { removals, settings, table } = this.#options;
    const candidates = this.#candidatesOf(survey);
    const { routes, exempt } = survey.desired;
    const needed = new Set([...routes.map(({ destination }) => destination), ...exempt.destinations]);
    const recent = this.#shared.recent.recentIn(table);
    const unplanned = this.#unplanned.find(survey);
    const limited = limitChanges(
      candidates,
      { recent, unplanned, needed, totalAtStart: this.#totalAtStart },
      settings.removalLimit,
    );
    this.#totalAtStart = limited.totalAtStart;
    this.#unplanned.note(survey, limited.doubted);
    this.#hold([...limited.held, ...limited.unlisted]);
    this.#lastListing = survey.listing.beganAt;
    const counted = limited.ready.filter(({ isCounted, isReleased }) => isCounted && !isReleased);
    const ids = counted.map(({ id }) => id);
    if (settings.removalLimit !== "off" && ids.length > 0) {
      this.#shared.recent.note(table, ids);
      // Those that failed since they were recorded count from now.
      removals.note(
        "routes",
        ids.filter((id) => removals.isStored("routes", id)),
      );
      await removals.record("routes", ids);
    }
    return { survey: withoutBlocked(survey, limited.blocked), limited };
  }

  noteResults({ desired }: Survey, results: readonly ChangeResult[]): void {
    for (const { change, outcome } of results) {
      if (change.do === "create") this.#noteCreation(change.route, outcome);
    }
    const routes = new Map(desired.routes.map((route) => [route.destination, route] as const));
    this.#evidence.noteResults(results, ({ route }) => routes.get(route.destination));
  }

  /** The operations of changes have ended. */
  noteOperations(failed: readonly RouteChange[], done: readonly RouteChange[]): void {
    for (const change of failed) if (change.do === "create") this.#creations.noteFailed(change.route);
    for (const change of done) if (change.do === "create") this.#evidence.noteThere(change.route);
  }

  #noteCreation(route: DesiredRoute, outcome: ChangeOutcome): void {
    const { removals, table, clock } = this.#options;
    const effect = this.#effectOf(route, outcome);
    if (effect === undefined) return;
    // A release creates a route that listings do not show once more, whether or not the answer is lost.
    const wasUnlisted = this.#creations.countOf(route) !== undefined;
    if (effect === "accepted" || wasUnlisted) removals.endRelease("routes", creationId(route, table));
    this.#creations.note(route, effect, clock.monotonic());
  }

  #effectOf(route: DesiredRoute, outcome: ChangeOutcome): CreationEffect | undefined {
    if (outcome.kind === "done" || outcome.kind === "pending") return "accepted";
    if (outcome.kind !== "failed" || isRefusal(outcome.error)) return undefined;
    if (!CloudError.is(outcome.error) || outcome.error.kind !== "conflict") return "uncertain";
    // The cloud says that the route exists, unless something else is in the way of a new one.
    return this.#evidence.wasThere(route) ? "accepted" : "uncertain";
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
    this.#evidence.keepOnly(desired.routes);
    this.#creations.keepOnly(() => new Set(nodes.list().map(({ metadata }) => metadata.uid)));
    const shown = new Set(
      listing.routes.flatMap(({ destination, isUnshown }) => (isUnshown === true ? [] : destination)),
    );
    for (const route of desired.routes) if (shown.has(route.destination)) this.#creations.noteShown(route);
    for (const route of [...plan.present, ...plan.undecided]) this.#evidence.noteThere(route);
    const listed = new Set(listing.routes.map(({ destination }) => destination));
    const missing = plan.create.flatMap((route): readonly Candidate[] => {
      if (listed.has(route.destination)) {
        this.#evidence.noteThere(route);
        return [];
      }
      const node = ownerOf(route, nodes.get(route.target.node));
      const absence = this.#evidence.noteMissing(route, node, { beganAt: listing.beganAt, knownAt });
      const unlisted = this.#creations.countOf(route);
      if (absence === "new" && unlisted === undefined) return [];
      const id = creationId(route, table);
      const isProved = absence !== "uncertain" && absence !== "unproved";
      const isCounted = absence === "proved" || absence === "unproved";
      return [this.#candidate(id, { ...route, absent: "route", isProved, isCounted, unlisted })];
    });
    const needed = new Set(desired.routes.map(({ destination }) => destination));
    const unneeded = plan.remove.flatMap(({ destination, handle, leadsNowhere }): readonly Candidate[] => {
      // A route to an instance that no longer exists serves no Node.
      const isExpected = leadsNowhere === true || this.#shared.deletions.has(destination);
      if (needed.has(destination) || isExpected) return [];
      const absent = desired.notServed.has(destination) ? "table" : "node";
      const id = `remove ${handle}${inTable(table)}`;
      return [this.#candidate(id, { destination, absent, isProved: true, isCounted: true })];
    });
    const candidates = [...missing, ...unneeded];
    this.#endReleases(candidates);
    return candidates;
  }

  /** A release does not cover what is there again, and absent later. */
  #endReleases(candidates: readonly Candidate[]): void {
    const absent = new Set(candidates.map(({ id }) => id));
    for (const id of this.#absent) if (!absent.has(id)) this.#options.removals.endRelease("routes", id);
    this.#absent = absent;
  }

  #candidate(
    id: string,
    {
      destination,
      absent,
      isProved,
      isCounted,
      unlisted,
    }: Omit<Candidate, "id" | "isRecorded" | "isReleased">,
  ): Candidate {
    const { removals } = this.#options;
    const [isRecorded, isReleased] = [removals.has("routes", id), removals.isReleased("routes", id)];
    return { id, destination, absent, isProved, isCounted, isRecorded, isReleased, unlisted };
  }
}

const creationId = ({ destination, target }: DesiredRoute, table: TableOptions["table"]): string =>
  `create ${destination} for ${target.uid}${inTable(table)}`;

function confirmAfterOf({ routes, settings }: RouteGuardOptions): Milliseconds {
  return routes.proofsApart(settings.confirmAfter);
}

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

// Holds back route changes that follow from something absent: until the absence is proved, and while there are too many of them.
// Remembers those that may be sent before they are sent.

import type { Cidr } from "../../../core/brand.ts";
import type { Node } from "../../../kube/objects.ts";
import type { DesiredRoute } from "../../../provider/routes.ts";
import type { NodeStore } from "../../node-deps.ts";
import { identityOf } from "../../node-facts.ts";
import type { RouteControllerOptions } from "../deps.ts";
import type { ChangeResult } from "../plan/changes.ts";
import { planOnly, type RoutePlan } from "../plan/plan.ts";
import type { Survey } from "../plan/survey.ts";
import { type Candidate, type LimitedChanges, limitChanges } from "./limit-changes.ts";
import { RouteEvidence } from "./route-evidence.ts";
import { SeenDeletions } from "./seen-deletions.ts";

type RouteGuardOptions = Pick<
  RouteControllerOptions,
  "nodes" | "inventory" | "clock" | "settings" | "removals"
>;

export interface Guarded {
  readonly survey: Survey;
  readonly limited: LimitedChanges;
}

export class RouteGuard {
  readonly #options: RouteGuardOptions;
  readonly #deletions: SeenDeletions;
  readonly #evidence: RouteEvidence;
  #isHolding = false;
  #lastListing = 0;

  constructor(options: RouteGuardOptions) {
    const { inventory, removals, settings } = options;
    this.#options = options;
    this.#deletions = new SeenDeletions({
      answerFor: (node) => inventory.check(identityOf(node)),
      removals,
    });
    this.#evidence = new RouteEvidence(settings);
  }

  /** Follows the Nodes for the life of the process, because the next leader must know which deletions were seen. */
  follow(nodes: NodeStore): void {
    nodes.subscribe((change) => {
      this.#deletions.note(change);
      this.#evidence.noteChange(change);
    });
  }

  begin(): void {
    this.#evidence.beginSession();
    this.#isHolding = false;
  }

  end(): void {
    this.#options.removals.endHolds("routes");
  }

  /** When another listing may prove an absence or show that the cloud has recovered, monotonic. */
  get nextListing(): number | undefined {
    const { settings } = this.#options;
    return this.#isHolding ? this.#lastListing + settings.heldRecheck : this.#evidence.nextProof;
  }

  /** The survey with only the changes that may be sent, which are stored by then. Throws if they cannot be stored. */
  async limit(survey: Survey): Promise<Guarded> {
    const { removals, settings } = this.#options;
    const candidates = this.#candidatesOf(survey);
    const { routes, exempt } = survey.desired;
    const needed = new Set([...routes.map(({ destination }) => destination), ...exempt.destinations]);
    const recent = removals.count("routes");
    const limited = limitChanges(candidates, { recent, needed }, settings.removalLimit);
    this.#hold(limited);
    this.#lastListing = survey.listing.beganAt;
    const isCounted = settings.removalLimit !== "off";
    const ids = limited.ready.filter(({ isReleased }) => !isReleased).map(({ id }) => id);
    if (isCounted && ids.length > 0) await removals.record("routes", ids);
    return { survey: withoutBlocked(survey, limited.blocked), limited };
  }

  noteResults({ desired }: Survey, results: readonly ChangeResult[]): void {
    const routes = new Map(desired.routes.map((route) => [route.destination, route] as const));
    this.#evidence.noteResults(results, ({ route }) => routes.get(route.destination));
  }

  #hold({ held }: LimitedChanges): void {
    const { removals } = this.#options;
    removals.endHolds("routes");
    for (const { id, destination } of held) removals.hold("routes", id, destination);
    this.#isHolding = held.length > 0;
  }

  #candidatesOf({ desired, listing, plan }: Survey): readonly Candidate[] {
    const { nodes, clock } = this.#options;
    const knownAt = clock.monotonic();
    this.#evidence.keepOnly(desired.routes);
    for (const route of [...plan.present, ...plan.undecided]) this.#evidence.noteThere(route);
    const listed = new Set(listing.routes.map(({ destination }) => destination));
    const missing = plan.create.flatMap((route): readonly Candidate[] => {
      if (listed.has(route.destination)) {
        this.#evidence.noteThere(route);
        return [];
      }
      const node = ownerOf(route, nodes.get(route.target.node));
      const absence = this.#evidence.noteMissing(route, node, { beganAt: listing.beganAt, knownAt });
      if (absence === "new") return [];
      const id = `create ${route.destination} for ${route.target.uid}`;
      return [this.#candidate(id, route.destination, "route", absence === "proved")];
    });
    const needed = new Set(desired.routes.map(({ destination }) => destination));
    const unneeded = plan.remove.flatMap(({ destination, handle, leadsNowhere }): readonly Candidate[] => {
      // A route to an instance that no longer exists serves no Node.
      if (needed.has(destination) || leadsNowhere === true || this.#deletions.has(destination)) return [];
      return [this.#candidate(`remove ${handle}`, destination, "node", true)];
    });
    return [...missing, ...unneeded];
  }

  #candidate(id: string, destination: Cidr, absent: Candidate["absent"], isProved: boolean): Candidate {
    const { removals } = this.#options;
    const isRecorded = removals.has("routes", id);
    return { id, destination, absent, isProved, isRecorded, isReleased: removals.isReleased("routes", id) };
  }
}

function ownerOf({ target }: DesiredRoute, node: Node | undefined): Node | undefined {
  return node?.metadata.uid === target.uid ? node : undefined;
}

/** Blocked routes count as undecided, so that the conditions of their Nodes stay as they are. */
function withoutBlocked(survey: Survey, blocked: readonly Candidate[]): Survey {
  if (blocked.length === 0) return survey;
  const isBlocked = new Set(blocked.map(({ destination }) => destination));
  const withoutBlockedIn = (plan: RoutePlan): RoutePlan => {
    const destinations = [...plan.create, ...plan.remove].map(({ destination }) => destination);
    return {
      ...planOnly(plan, new Set(destinations.filter((destination) => !isBlocked.has(destination)))),
      undecided: [...plan.undecided, ...plan.create.filter(({ destination }) => isBlocked.has(destination))],
    };
  };
  return {
    ...survey,
    plan: withoutBlockedIn(survey.plan),
    planFor: (listing) => withoutBlockedIn(survey.planFor(listing)),
  };
}

// The mass limit of load balancers: when too many are absent from the cloud, or too many Services vanished from the API, none is
// created again or removed for that reason. They are counted once for all groups.

import { type ServiceUID, serviceUID } from "../../../core/brand.ts";
import type { Service } from "../../../kube/objects.ts";
import { MassLimit, type Share, Tally } from "../../absence/mass-limit.ts";
import type { ServiceControllerDeps, ServiceStore } from "../deps.ts";
import { hasFinalizer, isEnding, wantsLoadBalancer } from "../predicates.ts";
import type { OwnerEvidence } from "../state/balancer-evidence.ts";
import type { GoneService } from "../state/group-parts.ts";
import type { GroupState } from "../state/group-state.ts";
import type { GroupStates } from "../state/group-states.ts";
import type { MassHold } from "../status/events.ts";
import { isJustChanged } from "./balancer-absence.ts";
import type { ListingIndex } from "./listing-index.ts";

export const removalKind = "load-balancers";

type MassLimitDeps = Pick<ServiceControllerDeps, "removals" | "settings" | "services" | "clock"> & {
  /** A hold begins, or ends. */
  readonly onHold: (hold: MassHold | undefined) => void;
};

/** `explained`: absent, because an earlier leader may have deleted it. */
type Counted = "managed" | "missing" | "explained" | "vanished";

export class BalancerMassLimit {
  readonly #deps: MassLimitDeps;
  readonly #index: ListingIndex;
  readonly #tally: Tally<Counted>;
  readonly #limit: MassLimit;

  constructor(deps: MassLimitDeps, groups: GroupStates, index: ListingIndex) {
    const { settings, removals, clock } = deps;
    this.#deps = deps;
    this.#limit = new MassLimit({ kind: removalKind, settings, removals, clock });
    this.#index = index;
    this.#tally = new Tally<Counted>({
      clock,
      zero: { managed: 0, missing: 0, explained: 0, vanished: 0 },
      keys: () => groups.all.map(({ group }) => group),
      shareOf: (group) => {
        const state = groups.get(group);
        return state && this.#shareOf(state);
      },
    });
  }

  get isHolding(): boolean {
    return this.#limit.isHolding;
  }

  /** Whether listings lack more load balancers than the limit allows. */
  get lacksTooMany(): boolean {
    return (this.hold()?.missing ?? 0) > 0;
  }

  /** Whether listings prove nothing, because they lack too many load balancers or may come from another account. */
  get isListingDoubted(): boolean {
    return this.lacksTooMany || this.hold()?.doubt !== undefined;
  }

  /** Another replica may have led since. */
  begin(): void {
    this.#limit.begin();
  }

  /** Load balancers or Services may be absent, or back. */
  invalidate(): void {
    this.#tally.invalidate();
  }

  /** After a listing: reports the end of a hold even if no group asks. */
  refresh(): void {
    this.invalidate();
    if (this.isHolding) this.hold();
  }

  /** Why the load balancer of this group is not created again or removed although it, or its Service, is absent. */
  holdFor(group: string): MassHold | undefined {
    return this.#deps.removals.isReleased(removalKind, group) ? undefined : this.hold();
  }

  /** When a hold ended that concerned this group, so that its proof starts again (monotonic). */
  restartedFor(group: string): number | undefined {
    return this.#limit.restartedFor(group);
  }

  /** Stores that the change is about to be made. */
  async record(ids: readonly string[]): Promise<"recorded" | "decide again"> {
    const result = await this.#limit.record(ids);
    if (result === "decide again") this.invalidate();
    return result;
  }

  /** Why nothing is created again or removed for now; undefined while the limit is not exceeded. */
  hold(): MassHold | undefined {
    const { removals, onHold } = this.#deps;
    const { managed, missing, explained, vanished } = this.#tally.sums;
    const recent = removals.count(removalKind);
    // An absence that a deletion explains says nothing alone. Beside one that nothing explains, it may be part of the same lie.
    const absent = missing > 0 ? missing + explained : 0;
    const count = { managed: managed + recent, missing: absent, vanished, recent };
    const affected = absent + vanished;
    const wasHolding = this.isHolding;
    const { isHeld, allowed, doubt } = this.#limit.decide({ recent, affected, total: count.managed });
    const howToRelease = removals.howToRelease(removalKind);
    const hold = isHeld ? { ...count, allowed, doubt, howToRelease } : undefined;
    if (this.isHolding !== wasHolding) onHold(wasHolding ? undefined : hold);
    return hold;
  }

  #shareOf(state: GroupState): Share<Counted> {
    const { removals } = this.#deps;
    const isRecorded = removals.has(removalKind, state.group);
    const doesExist = [...state.evidence.owners].some(([, { certainty }]) => certainty === "exists");
    const isReleased = removals.isReleased(removalKind, state.group);
    const vanished = isReleased ? 0 : this.#countVanished(state);
    // A recorded one counts as recent.
    const isCounted = doesExist && !isRecorded;
    const absence = isCounted && !isReleased && vanished === 0 ? this.#absenceIn(state) : undefined;
    return {
      managed: Number(isCounted),
      missing: Number(absence === "missed"),
      explained: Number(absence === "explained"),
      vanished,
    };
  }

  /** Each Service counts, also when they share a load balancer. */
  #countVanished({ group, goneServices }: GroupState): number {
    const { services, settings, removals } = this.#deps;
    if (goneServices.size === 0 || settings.vanished === "keep") return 0;
    const shown = this.#index.ownersIn(group);
    const isCounted = (uid: ServiceUID): boolean => shown.includes(uid) && !removals.has(removalKind, uid);
    return [...goneServices].filter(([uid, gone]) => isCounted(uid) && hasVanished(services, uid, gone))
      .length;
  }

  #absenceIn({ group, members, evidence }: GroupState): Absence {
    if (!evidence.needsProof || this.#index.ofGroup(group).length > 0) return undefined;
    const { services, settings } = this.#deps;
    const absences = [...members].map((key) => {
      const service = services.get(key);
      const known = service && evidence.get(serviceUID(service.metadata.uid));
      if (known !== undefined && isJustChanged(known, settings.confirmAfter)) return undefined;
      return service && absenceFor(service, known);
    });
    return absences.includes("missed") ? "missed" : absences.find((absence) => absence !== undefined);
  }
}

type Absence = "missed" | "explained" | undefined;

/** Also for a Service that no longer needs it, if listings are all that says that it is gone. */
function absenceFor(service: Service, known: OwnerEvidence | undefined): Absence {
  if (!isEnding(service)) return wantsLoadBalancer(service) ? "missed" : undefined;
  if (known?.certainty !== "exists" || !hasFinalizer(service)) return undefined;
  if (known.removal === "sent" || known.notFoundAt !== undefined) return undefined;
  return known.removal === undefined ? "missed" : "explained";
}

/** Whether the Service disappeared without a deletion that was seen, and did not come back. */
export function hasVanished(
  services: Pick<ServiceStore, "get">,
  uid: ServiceUID,
  { key, isDeletionSeen }: GoneService,
): boolean {
  return !isDeletionSeen && services.get(key)?.metadata.uid !== uid;
}

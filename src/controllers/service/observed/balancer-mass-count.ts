// The mass limit of load balancers: when too many are absent from the cloud, or too many Services vanished from the API, none is
// created again or removed for that reason. They are counted once for all groups.

import { type ServiceUID, serviceUID } from "../../../core/brand.ts";
import type { Service } from "../../../kube/objects.ts";
import { MassLimit } from "../../absence/mass-limit.ts";
import type { ServiceControllerDeps, ServiceStore } from "../deps.ts";
import { hasFinalizer, isEnding, wantsLoadBalancer } from "../predicates.ts";
import type { OwnerEvidence } from "../state/balancer-evidence.ts";
import type { GoneService, GroupState, MassCount, MassHold } from "../state/group-record.ts";
import type { GroupStates } from "../state/group-states.ts";
import type { ListingIndex } from "./listing-index.ts";

export const removalKind = "load-balancers";

type MassLimitDeps = Pick<ServiceControllerDeps, "removals" | "settings" | "services" | "clock"> & {
  /** A hold begins, or ends. */
  readonly onHold: (hold: MassHold | undefined) => void;
};

const maxCountAge = 1000;

export class BalancerMassLimit {
  readonly #deps: MassLimitDeps;
  readonly #groups: GroupStates;
  readonly #index: ListingIndex;
  #count: MassCount | undefined;
  #countedAt = Number.NEGATIVE_INFINITY;
  #isHolding = false;
  readonly #limit: MassLimit;

  constructor(deps: MassLimitDeps, groups: GroupStates, index: ListingIndex) {
    const { settings, removals, clock } = deps;
    this.#deps = deps;
    this.#limit = new MassLimit({ kind: removalKind, settings, removals, clock });
    this.#groups = groups;
    this.#index = index;
  }

  get isHolding(): boolean {
    return this.#isHolding;
  }

  /** Whether listings lack so many load balancers that they prove nothing. */
  get isListingDoubted(): boolean {
    return (this.hold()?.missing ?? 0) > 0;
  }

  /** Another replica may have led since. */
  begin(): void {
    this.#limit.begin();
  }

  /** Load balancers or Services may be absent, or back. */
  invalidate(): void {
    this.#count = undefined;
  }

  /** After a listing: reports the end of a hold even if no group asks. */
  refresh(): void {
    this.invalidate();
    if (this.#isHolding) this.hold();
  }

  /** Whether the load balancer of this group may be created again or removed although it, or its Service, is absent. */
  mayChange(group: string): boolean {
    const { removals, settings } = this.#deps;
    if (settings.removalLimit === "off" || removals.isReleased(removalKind, group)) return true;
    return this.hold() === undefined;
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
    const { settings, removals, onHold } = this.#deps;
    if (settings.removalLimit === "off") return undefined;
    const count = this.#current();
    const { managed: total, missing, vanished, recent } = count;
    const { isHeld, allowed } = this.#limit.decide({ recent, affected: missing + vanished, total });
    const hold = isHeld ? { ...count, allowed, howToRelease: removals.howToRelease(removalKind) } : undefined;
    if (isHeld !== this.#isHolding) {
      this.#isHolding = isHeld;
      onHold(hold);
    }
    return hold;
  }

  /** Counted again at most once per second: during a hold, every absent load balancer needs a decision. */
  #current(): MassCount {
    const now = this.#deps.clock.monotonic();
    if (this.#count === undefined || now - this.#countedAt > maxCountAge) {
      this.#count = this.#countAll();
      this.#countedAt = now;
    }
    return this.#count;
  }

  #countAll(): MassCount {
    const { removals } = this.#deps;
    const count = { managed: 0, missing: 0, vanished: 0 };
    let explained = 0;
    for (const state of this.#groups.all) {
      const isRecorded = removals.has(removalKind, state.group);
      const doesExist = [...state.evidence.owners].some(([, { certainty }]) => certainty === "exists");
      // A recorded one counts as recent.
      if (doesExist && !isRecorded) count.managed += 1;
      if (removals.isReleased(removalKind, state.group)) continue;
      const vanished = this.#countVanished(state);
      count.vanished += vanished;
      if (vanished > 0 || isRecorded || !doesExist) continue;
      const absence = this.#absenceIn(state);
      if (absence === "missed") count.missing += 1;
      else if (absence === "explained") explained += 1;
    }
    // An absence that a deletion explains says nothing alone. Beside one that nothing explains, it may be part of the same lie.
    if (count.missing > 0) count.missing += explained;
    const recent = removals.count(removalKind);
    return { ...count, managed: count.managed + recent, recent };
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
    const absences = [...members].map((key) => {
      const service = this.#deps.services.get(key);
      return service && absenceFor(service, evidence.get(serviceUID(service.metadata.uid)));
    });
    return absences.includes("missed") ? "missed" : absences.find((absence) => absence !== undefined);
  }
}

/** `explained`: an earlier leader may have deleted it. */
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

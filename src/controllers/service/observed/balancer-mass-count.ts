// The mass limit of load balancers: when too many are absent from the cloud, or too many Services vanished from the API, none is
// created again or removed for that reason. They are counted once for all Services.

import type { ServiceUID } from "../../../core/brand.ts";
import type { Service } from "../../../kube/objects.ts";
import { type HoldMemory, MassLimit, type Share, Tally } from "../../kernel/mass-limit.ts";
import type { ServiceControllerDeps, ServiceStore } from "../deps.ts";
import { hasFinalizer, isEnding, wantsLoadBalancer } from "../predicates.ts";
import type { Existence } from "../state/balancer-evidence.ts";
import type { ServiceState } from "../state/service-record.ts";
import type { ServiceRecords } from "../state/service-records.ts";
import type { MassHold } from "../status/events.ts";
import { isJustChanged } from "./balancer-absence.ts";
import type { ListingIndex } from "./listing-index.ts";

export const removalKind = "load-balancers";

type MassLimitDeps = Pick<ServiceControllerDeps, "removals" | "settings" | "services" | "clock"> & {
  readonly memory: HoldMemory;
  /** A hold begins, or ends. */
  readonly onHold: (hold: MassHold | undefined) => void;
};

interface BalancerDecision {
  /** Why the load balancer is neither created again nor removed although it, or its Service, is absent. */
  readonly held: MassHold | undefined;
  /** When a hold ended that concerned this Service, so that its proof starts again (monotonic). */
  readonly restartedAt: number | undefined;
}

/** `explained`: absent, because an earlier leader may have deleted it. */
type Counted = "managed" | "missing" | "explained" | "vanished";

export class BalancerMassLimit {
  readonly #deps: MassLimitDeps;
  readonly #index: ListingIndex;
  readonly #tally: Tally<Counted>;
  readonly #limit: MassLimit;

  constructor(deps: MassLimitDeps, records: Pick<ServiceRecords, "all" | "get">, index: ListingIndex) {
    const { settings, removals, clock, memory } = deps;
    this.#deps = deps;
    this.#limit = new MassLimit({ kind: removalKind, settings, removals, clock, memory });
    this.#index = index;
    this.#tally = new Tally<Counted>({
      clock,
      zero: { managed: 0, missing: 0, explained: 0, vanished: 0 },
      keys: () => records.all.map(({ uid }) => uid),
      shareOf: (uid) => {
        const state = records.get(uid as ServiceUID);
        return state && this.#shareOf(state);
      },
    });
  }

  get isHolding(): boolean {
    return this.#limit.isHolding;
  }

  /** Whether listings lack more load balancers than the limit allows. */
  get lacksTooMany(): boolean {
    return (this.#decide().held?.missing ?? 0) > 0;
  }

  /** Whether listings prove nothing, because they lack too many load balancers or may come from another account. */
  get isListingDoubted(): boolean {
    return this.lacksTooMany || this.#decide().held?.doubt !== undefined;
  }

  /** Load balancers or Services may be absent, or back. */
  invalidate(): void {
    this.#tally.invalidate();
  }

  /** After a listing: reports the end of a hold even if no Service asks. */
  refresh(): void {
    this.invalidate();
    if (this.isHolding) this.#decide();
  }

  /** Nothing is held of what an operator released, and its proof does not start again. */
  decideFor(uid: ServiceUID): BalancerDecision {
    const isReleased = this.#deps.removals.isReleased(removalKind, uid);
    return isReleased ? { held: undefined, restartedAt: undefined } : this.#decide();
  }

  /** Stores that the change is about to be made. */
  async record(ids: readonly string[]): Promise<"recorded" | "decide again"> {
    const result = await this.#limit.record(ids);
    if (result === "decide again") this.invalidate();
    return result;
  }

  #decide(): BalancerDecision {
    const { removals, onHold } = this.#deps;
    const { managed, missing, explained, vanished } = this.#tally.sums;
    const recent = removals.count(removalKind);
    // An absence that a deletion explains says nothing alone. Beside one that nothing explains, it may be part of the same lie.
    const absent = missing > 0 ? missing + explained : 0;
    const count = { managed: managed + recent, missing: absent, vanished, recent };
    const affected = absent + vanished;
    const wasHolding = this.isHolding;
    const total = count.managed;
    const { isHeld, allowed, doubt, restartedAt } = this.#limit.decide({ recent, affected, total });
    const howToRelease = removals.howToRelease(removalKind);
    const held = isHeld ? { ...count, allowed, doubt, howToRelease } : undefined;
    if (this.isHolding !== wasHolding) onHold(wasHolding ? undefined : held);
    return { held, restartedAt };
  }

  #shareOf(state: ServiceState): Share<Counted> {
    const { removals } = this.#deps;
    const { uid, evidence } = state;
    // A recorded one counts as recent.
    const isRecorded = removals.has(removalKind, uid);
    const isReleased = removals.isReleased(removalKind, uid);
    const isVanished = !isRecorded && !isReleased && this.#countsAsVanished(state);
    const isCounted = evidence.known?.certainty === "exists" && !isRecorded;
    const absence = isCounted && !isReleased && !isVanished ? this.#absenceOf(state) : undefined;
    return {
      managed: Number(isCounted),
      missing: Number(absence === "missed"),
      explained: Number(absence === "explained"),
      vanished: Number(isVanished),
    };
  }

  #countsAsVanished(state: ServiceState): boolean {
    const { services, settings } = this.#deps;
    if (state.goneAt === undefined || settings.vanished === "keep") return false;
    return this.#index.of(state.uid).length > 0 && hasVanished(services, state);
  }

  #absenceOf({ phase, key, uid, evidence }: ServiceState): Absence {
    if (phase !== "managed" || !evidence.needsProof || this.#index.of(uid).length > 0) return undefined;
    const { services, settings } = this.#deps;
    const { known } = evidence;
    const service = services.get(key);
    if (service?.metadata.uid !== uid || known === undefined) return undefined;
    return isJustChanged(known, settings.confirmAfter) ? undefined : absenceFor(service, known);
  }
}

type Absence = "missed" | "explained" | undefined;

/** Also for a Service that no longer needs it, if listings are all that says that it is gone. */
function absenceFor(service: Service, known: Existence): Absence {
  if (!isEnding(service)) return wantsLoadBalancer(service) ? "missed" : undefined;
  if (known.certainty !== "exists" || !hasFinalizer(service)) return undefined;
  if (known.removal === "sent" || known.notFoundAt !== undefined) return undefined;
  return known.removal === undefined ? "missed" : "explained";
}

/** Whether the Service disappeared without a deletion that was seen, and did not come back. */
export function hasVanished(
  services: Pick<ServiceStore, "get">,
  { key, uid, goneAt, isDeletionSeen }: Pick<ServiceState, "key" | "uid" | "goneAt" | "isDeletionSeen">,
): boolean {
  return goneAt !== undefined && !isDeletionSeen && services.get(key)?.metadata.uid !== uid;
}

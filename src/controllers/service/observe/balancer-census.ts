// How load balancers count for doubt: missing load balancers that a Service had, and load balancers whose Service vanished
// from the API.

import type { BalancerInventory } from "../../../cloud/inventory/balancers.ts";
import type { ServiceUID } from "../../../core/brand.ts";
import type { Service } from "../../../kube/objects.ts";
import type { Census, Counted, Standing } from "../../kernel/doubt.ts";
import type { Ledger } from "../../kernel/ledger.ts";
import { isJustChanged } from "../../kernel/proof.ts";
import { isPaused } from "../../pause.ts";
import type { ServiceControllerDeps, ServiceStore } from "../deps.ts";
import { hasFinalizer, isEnding, wantsLoadBalancer } from "../predicates.ts";
import type { ServedClasses } from "../served-classes.ts";
import type { ServiceState } from "../state/service-record.ts";
import type { ServiceRecords } from "../state/service-records.ts";

export const removalKind = "load-balancers";

export class BalancerCensus implements Census {
  readonly #deps: Pick<ServiceControllerDeps, "settings" | "services" | "classes">;
  readonly #records: Pick<ServiceRecords, "all" | "get">;
  readonly #inventory: Pick<BalancerInventory, "of">;

  constructor(
    deps: Pick<ServiceControllerDeps, "settings" | "services" | "classes">,
    records: Pick<ServiceRecords, "all" | "get">,
    inventory: Pick<BalancerInventory, "of">,
  ) {
    this.#deps = deps;
    this.#records = records;
    this.#inventory = inventory;
  }

  *keys(): Iterable<string> {
    for (const { uid } of this.#records.all) yield uid;
  }

  of(uid: string): Counted | undefined {
    const state = this.#records.get(uid as ServiceUID);
    const standing = state && this.#standingOf(state);
    return standing && { id: uid, standing };
  }

  #standingOf(state: ServiceState): Standing | undefined {
    const { services, settings, classes } = this.#deps;
    const { phase, key, uid, evidence, goneAt } = state;
    const isShown = this.#inventory.of(uid).length > 0;
    const isVanished = goneAt !== undefined && settings.vanished !== "keep" && hasVanished(services, state);
    if (isShown && isVanished) return "vanished";
    if (evidence.certainty !== "exists") return undefined;
    const isMissing = !isShown && evidence.needsProof && !isJustChanged(evidence, settings.confirmAfter);
    if (!isMissing) return "present";
    if (isVanished) return "absent";
    const service = phase === "managed" ? services.get(key) : undefined;
    // A paused Service changes nothing, however long its load balancer is missing.
    const isLeftAlone = service?.metadata.uid !== uid || isPaused(service);
    return isLeftAlone ? "announced" : standingOfMissing(service, evidence, classes);
  }
}

/** Includes a Service that no longer needs a load balancer, if only listings show that it is gone. */
function standingOfMissing(
  service: Service,
  { removal, notFoundAt }: Pick<Ledger, "removal" | "notFoundAt">,
  classes: ServedClasses,
): Standing {
  if (!isEnding(service, classes)) return wantsLoadBalancer(service, classes) ? "absent" : "present";
  if (!hasFinalizer(service, classes) || removal === "sent" || notFoundAt !== undefined) return "present";
  return removal === undefined ? "absent" : "explained";
}

/** Whether the Service disappeared without a seen deletion, and has not come back. */
export function hasVanished(
  services: Pick<ServiceStore, "get">,
  { key, uid, goneAt, isDeletionSeen }: Pick<ServiceState, "key" | "uid" | "goneAt" | "isDeletionSeen">,
): boolean {
  return goneAt !== undefined && !isDeletionSeen && services.get(key)?.metadata.uid !== uid;
}

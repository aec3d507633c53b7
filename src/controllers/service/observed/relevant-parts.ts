// Decides in which parts of the cloud, such as regions, the load balancer of a group may be. Only their listings are needed for it,
// so a part that fails holds up no other group.

import type { Service } from "../../../kube/objects.ts";
import type { ObservedLoadBalancer } from "../../../provider/load-balancers.ts";
import type { ServiceControllerDeps } from "../deps.ts";
import type { DesiredServices } from "../desired/desired-services.ts";
import { isEnding } from "../predicates.ts";
import type { GroupState } from "../state/group-record.ts";
import type { ListingIndex } from "./listing-index.ts";

interface RelevantPartsDeps {
  readonly controller: Pick<ServiceControllerDeps, "balancers" | "listing">;
  readonly desiredServices: Pick<DesiredServices, "of">;
  readonly index: ListingIndex;
  /** Whether a Service has the address of this load balancer. */
  readonly isInUse: (balancer: ObservedLoadBalancer, members: readonly Service[]) => boolean;
}

export class RelevantParts {
  readonly #deps: RelevantPartsDeps;
  /** Shared by most groups. */
  #all: ReadonlySet<string> | undefined;

  constructor(deps: RelevantPartsDeps) {
    this.#deps = deps;
  }

  of(state: GroupState, members: readonly Service[]): ReadonlySet<string> {
    const { index, controller } = this.#deps;
    this.#all ??= new Set(controller.listing.parts.map(({ name }) => name));
    const all = this.#all;
    if (all.size === 1) return all;
    const listed = index.partsOf(state.group);
    const named = this.named(members);
    const { places } = state.evidence;
    if (places.isUnknown && !this.#isConfirmed(state.group, { listed, named, members })) return all;
    const known = places.with(listed);
    // Nothing was created for a Service that is gone, so what was needed for it is enough.
    if (known.size === 0) return named ?? (members.length === 0 ? state.parts : undefined) ?? all;
    // What is deleted is deleted where it is, wherever the Service asks for it now.
    return named === undefined || members.every((service) => isEnding(service))
      ? known
      : new Set([...known, ...named]);
  }

  /** The parts that the provider names for these Services. Undefined if it does not know one of them. */
  named(members: readonly Service[]): ReadonlySet<string> | undefined {
    const { controller, desiredServices } = this.#deps;
    const { balancers, listing } = controller;
    const named = new Set<string>();
    for (const service of members) {
      const part = balancers.partOf?.(desiredServices.of(service).desired);
      if (part === undefined || !listing.parts.some(({ name }) => name === part)) return undefined;
      named.add(part);
    }
    return members.length === 0 ? undefined : named;
  }

  /**
   * Whether the load balancer that is listed is the one that was there before, and not a duplicate of one in a part that was not
   * listed yet: the provider expects it there, or the Services have its address or none.
   */
  #isConfirmed(
    group: string,
    {
      listed,
      named,
      members,
    }: {
      readonly listed: readonly string[];
      readonly named: ReadonlySet<string> | undefined;
      readonly members: readonly Service[];
    },
  ): boolean {
    if (listed.length === 0 || members.length === 0) return false;
    if (named !== undefined && [...named].every((part) => listed.includes(part))) return true;
    const { index, isInUse } = this.#deps;
    const hasAddress = members.some(({ status }) => (status.loadBalancer?.ingress ?? []).length > 0);
    return !hasAddress || index.ofGroup(group).some((balancer) => isInUse(balancer, members));
  }
}

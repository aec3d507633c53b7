// The state of the Node firewall controller across leadership sessions: the Services that were seen to give up ports,
// and reported findings. Follows the Services even on a standby replica.

import type { Problem } from "../../core/problem.ts";
import type { Fields } from "../../core/settings.ts";
import type { Service } from "../../kube/objects.ts";
import type { Change } from "../../kube/watch/store.ts";
import type { ExposedService, NodeFirewall } from "../../provider/node-firewall.ts";
import type { Step } from "../../provider/plan.ts";
import { ObjectBoard } from "../kernel/board.ts";
import { removalWindow } from "../kernel/removal-kinds.ts";
import { isPaused } from "../pause.ts";
import { annotationKey, readAnnotations } from "./annotations/annotations.ts";
import type { ServiceControllerDeps } from "./deps.ts";
import { readFacts } from "./desired/facts.ts";
import { toDesired } from "./desired/to-desired.ts";
import { isBeingDeleted, wantsLoadBalancer } from "./predicates.ts";
import type { ServedClasses } from "./served-classes.ts";

export interface FirewallHistoryDeps
  extends Pick<ServiceControllerDeps, "services" | "classes" | "annotations" | "facts" | "clock"> {
  readonly firewall: NodeFirewall<Fields, Step>;
}

export interface FirewallProblem extends Problem {
  readonly service?: ExposedService<Fields>["owner"] | undefined;
}

export const isExposed = (service: Service, classes: ServedClasses): boolean =>
  service.spec.type === "NodePort" || wantsLoadBalancer(service, classes);

/** The part of a Service that opens or closes ports. */
export function exposureOf(service: Service | undefined, classes: ServedClasses): string {
  if (service === undefined || !isExposed(service, classes)) return "";
  const { type, ports, healthCheckNodePort } = service.spec;
  return JSON.stringify([type, ports, healthCheckNodePort, service.metadata.annotations]);
}

/** A Service with a load balancer has a finalizer, so its deletion is seen before it disappears. */
function isSeen({ before, after, isFromList }: Change<Service>): boolean {
  return before !== undefined && (isFromList !== true || after !== undefined || isBeingDeleted(before));
}

export function toExposed(
  { annotations, facts: places, firewall }: Omit<FirewallHistoryDeps, "clock">,
  service: Service,
): { readonly exposed: ExposedService<Fields>; readonly problems: readonly FirewallProblem[] } {
  const { settings, frozen, problems } = readAnnotations(annotations, service);
  const facts = readFacts(service, places);
  const desired = toDesired({ service, settings, facts, targets: [], sourceRanges: undefined });
  const type = service.spec.type === "NodePort" ? "NodePort" : "LoadBalancer";
  const invalid = firewall.deciding.filter((name) => frozen.has(name));
  const keys = invalid.map((name) => annotationKey(name, annotations.prefix));
  const advice =
    "No port of the Nodes is opened for this Service until it is corrected, and open ones stay open.";
  const exposed: ExposedService<Fields> = {
    ...desired,
    type,
    isHeld: isPaused(service) || invalid.length > 0,
  };
  return {
    exposed,
    // The service controller reports the findings about load balancers.
    problems: problems.flatMap((problem) => {
      if (type !== "NodePort" || problem.key === undefined || !keys.includes(problem.key)) return [];
      const { owner: service } = desired;
      const text = `${problem.text} ${advice}`;
      // Several Services may have the same problem.
      return [{ ...problem, text, service, identity: `${service.uid} ${text}` }];
    }),
  };
}

/** The number of ports that the Service has closed, including its health check port. */
function closedBy(deps: FirewallHistoryDeps, { before, after }: Change<Service>): number {
  const { firewall, classes } = deps;
  const opens = (service: Service | undefined) =>
    service === undefined || !isExposed(service, classes)
      ? []
      : firewall.rulesOf(toExposed(deps, service).exposed, undefined).map(firewall.textOf);
  const opened = opens(after);
  const closed = opens(before).filter((one) => !opened.includes(one));
  return closed.length === 0 ? 0 : closed.length + 1;
}

export class FirewallHistory {
  /** Ports that Services were seen to give up within the window of the mass limits. */
  #seen: { readonly at: number; readonly ports: number }[] = [];
  readonly board = new ObjectBoard<"problems" | "errors">();

  constructor(deps: FirewallHistoryDeps) {
    deps.services.subscribe((change) => {
      const { before, after } = change;
      if (exposureOf(before, deps.classes) === exposureOf(after, deps.classes)) return;
      const ports = closedBy(deps, change);
      const at = deps.clock.monotonic();
      // On a standby replica, no controller requests the count.
      this.seenSince(at - removalWindow);
      if (isSeen(change) && ports > 0) this.#seen.push({ at, ports });
    });
  }

  /** Counts the ports that Services were seen to give up, by a change or a deletion. Forgets earlier changes. */
  seenSince(earliest: number): number {
    this.#seen = this.#seen.filter(({ at }) => at > earliest);
    return this.#seen.reduce((sum, { ports }) => sum + ports, 0);
  }

  /** Closed ports need no further explanation. Load balancers forward for a while after their Service has changed. */
  explain(closed: number): void {
    let left = closed;
    this.#seen = this.#seen.flatMap(({ at, ports }) => {
      const used = Math.min(ports, left);
      left -= used;
      return used === ports ? [] : [{ at, ports: ports - used }];
    });
  }
}

// Where reads lag behind writes, this process's own writes count as observed: listings are returned as if they showed the writes.

import type { Milliseconds } from "../core/brand.ts";
import type { DesiredRoute, ObservedRoute, RouteTarget } from "../provider/routes.ts";

export type RouteChange =
  | { readonly do: "create"; readonly route: DesiredRoute }
  | { readonly do: "remove"; readonly route: ObservedRoute };

/** A listed route, or a created route that listings do not show yet. */
export interface ListedRoute extends ObservedRoute {
  /** Set while no listing shows the route. Its handle is then unknown, and it cannot be removed. */
  readonly isUnshown?: true;
}

export class OwnRouteChanges {
  readonly #changes = new Set<{ readonly change: RouteChange; readonly shownAt: number }>();

  /** When a listing shows all changes so far (monotonic); undefined if the last listing did. */
  get shownAt(): number | undefined {
    const times = [...this.#changes].map(({ shownAt }) => shownAt);
    return times.length === 0 ? undefined : Math.max(...times);
  }

  note(change: RouteChange, now: number, readsLag: Milliseconds): void {
    for (const earlier of this.#changes) if (reverts(change, earlier.change)) this.#changes.delete(earlier);
    this.#changes.add({ change, shownAt: now + readsLag });
  }

  /** The routes of a listing that began then, as if it showed all changes. */
  applyTo(listed: readonly ObservedRoute[], beganAt: number): readonly ListedRoute[] {
    for (const one of this.#changes) if (one.shownAt <= beganAt) this.#changes.delete(one);
    if (this.#changes.size === 0) return listed;
    const changes = [...this.#changes].map(({ change }) => change);
    const removed = new Set(
      changes.flatMap((one) => (one.do === "remove" ? routeIdentityOf(one.route) : [])),
    );
    const left = listed.filter((route) => !removed.has(routeIdentityOf(route)));
    const created = changes.flatMap((one) => (one.do === "create" ? one.route : []));
    return [...left, ...created.filter((route) => !left.some(leadsTo(route))).map(toUnshown)];
  }
}

/** Whether the later change undoes the earlier one. */
function reverts(later: RouteChange, earlier: RouteChange): boolean {
  if (later.do === "create") return earlier.do === "remove" && leadsTo(later.route)(earlier.route);
  return earlier.do === "create" && leadsTo(earlier.route)(later.route);
}

function leadsTo({ destination, target }: DesiredRoute) {
  return (route: ObservedRoute): boolean =>
    route.destination === destination && matchTarget(target, route) === "same";
}

function toUnshown({ destination, target: { machine } }: DesiredRoute): ListedRoute {
  return { handle: "", destination, targetKey: machine?.key, ownership: "marked", isUnshown: true };
}

/** `unknown`: too little is known for a comparison; such a route must not be removed. */
export type TargetMatch = "same" | "different" | "unknown";

/** Whether the route leads to this target, by everything that the cloud reports about it. */
export function matchTarget(target: RouteTarget, route: ObservedRoute): TargetMatch {
  const { targetKey, targetAddress } = route;
  if (route.leadsNowhere === true) return "different";
  const found: TargetMatch[] = [];
  if (targetKey !== undefined) {
    found.push(target.machine === undefined ? "unknown" : equal(targetKey, target.machine.key));
  }
  if (targetAddress !== undefined) {
    const { addresses } = target;
    found.push(addresses.length === 0 ? "unknown" : equal(addresses.includes(targetAddress), true));
  }
  if (found.length === 0 || found.includes("different")) return "different";
  return found.includes("same") ? "same" : "unknown";
}

const equal = <T>(one: T, other: T): TargetMatch => (one === other ? "same" : "different");

/** Returns each route once, because a listing whose pages shift while it is read repeats some routes. */
export function withoutRepeats<R extends ObservedRoute>(routes: readonly R[]): readonly R[] {
  const seen = new Set<string>();
  return routes.filter((route) => {
    const identity = routeIdentityOf(route);
    if (seen.has(identity)) return false;
    seen.add(identity);
    return true;
  });
}

export function routeIdentityOf(route: ObservedRoute): string {
  const { handle, destination, targetKey, targetAddress } = route;
  return JSON.stringify([handle, destination, targetKey, targetAddress]);
}

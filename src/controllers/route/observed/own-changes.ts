// The route changes of this process that a listing may not show yet, where reads lag behind writes: what was written counts as
// observed.

import type { Milliseconds } from "../../../core/brand.ts";
import type { DesiredRoute, ObservedRoute } from "../../../provider/routes.ts";
import { identityOf, matchTarget } from "./observed-route.ts";

type OwnChange =
  | { readonly do: "create"; readonly route: DesiredRoute }
  | { readonly do: "remove"; readonly route: ObservedRoute };

/** A route of a listing, or one that was created and is not shown yet. */
export interface ListedRoute extends ObservedRoute {
  /** It is not shown yet, so its handle is unknown: it cannot be removed. */
  readonly isUnshown?: true;
}

export class OwnChanges {
  readonly #changes = new Set<{ readonly change: OwnChange; readonly shownAt: number }>();

  /** When a listing shows all changes so far (monotonic); undefined if the last one did. */
  get shownAt(): number | undefined {
    const times = [...this.#changes].map(({ shownAt }) => shownAt);
    return times.length === 0 ? undefined : Math.max(...times);
  }

  note(change: OwnChange, now: number, readsLag: Milliseconds): void {
    for (const earlier of this.#changes) if (reverts(change, earlier.change)) this.#changes.delete(earlier);
    this.#changes.add({ change, shownAt: now + readsLag });
  }

  /** The routes of a listing that began then, as if it showed all changes. */
  applyTo(listed: readonly ObservedRoute[], beganAt: number): readonly ListedRoute[] {
    for (const one of this.#changes) if (one.shownAt <= beganAt) this.#changes.delete(one);
    if (this.#changes.size === 0) return listed;
    const changes = [...this.#changes].map(({ change }) => change);
    const removed = new Set(changes.flatMap((one) => (one.do === "remove" ? identityOf(one.route) : [])));
    const left = listed.filter((route) => !removed.has(identityOf(route)));
    const created = changes.flatMap((one) => (one.do === "create" ? one.route : []));
    return [...left, ...created.filter((route) => !left.some(leadsTo(route))).map(toUnshown)];
  }
}

/** Whether the later change undoes the earlier one. */
function reverts(later: OwnChange, earlier: OwnChange): boolean {
  if (later.do === "create") return earlier.do === "remove" && leadsTo(later.route)(earlier.route);
  return earlier.do === "create" && leadsTo(earlier.route)(later.route);
}

function leadsTo({ destination, target }: DesiredRoute) {
  return (route: ObservedRoute): boolean =>
    route.destination === destination && matchTarget(target, route) === "same";
}

function toUnshown({ destination, target: { node, machine } }: DesiredRoute): ListedRoute {
  const targetKey = machine?.key;
  return { handle: "", destination, targetKey, targetName: node, ownership: "marked", isUnshown: true };
}

// What is known about the routes that Nodes need: whether each was there, and since when listings lack it. One wrong listing
// must not create thousands of routes a second time.

import type { Cidr, Milliseconds } from "../../../core/brand.ts";
import { defined } from "../../../core/defined.ts";
import type { Node } from "../../../kube/objects.ts";
import type { Change } from "../../../kube/watch/store.ts";
import type { DesiredRoute } from "../../../provider/routes.ts";
import { isRefusal } from "../../errors.ts";
import { networkCondition } from "../../well-known.ts";
import { podCIDRsOf } from "../desired/plan-desired.ts";
import type { ChangeResult } from "../plan/changes.ts";

/**
 * `new`: it was never there, as far as this process and its Node know. `uncertain`: only a failed creation may have created it, and
 * listings do not prove yet that it did not; `unlikely`: they do. The other two are of a route that was there.
 */
export type Absence = "new" | "uncertain" | "unlikely" | "unproved" | "proved";

interface Known {
  /** When the first listing without the route was known, and when the last one began; undefined while the route is there. */
  readonly missing?: { readonly firstKnownAt: number; readonly lastBeganAt: number };
  /** Its absence is no surprise: Fairlead removed it to replace it, or its Node has just got the range. */
  readonly isNew?: "replacement" | "range";
  /** Nothing shows that it was there, except a creation that failed and may have had an effect. */
  readonly isUncertain?: true;
}

export class RouteEvidence {
  readonly #confirmAfter: () => Milliseconds;
  readonly #known = new Map<string, Known>();

  /** The time between two proofs; it may change while the process runs. */
  constructor(confirmAfter: () => Milliseconds) {
    this.#confirmAfter = confirmAfter;
  }

  /** Another replica may have led since: every proof starts again. */
  beginSession(): void {
    for (const [key, { isNew, isUncertain }] of this.#known) {
      if (isNew !== undefined) this.#known.delete(key);
      else this.#known.set(key, defined({ isUncertain }));
    }
  }

  /** Another account may answer from now on: every proof starts again. Returns whether a proof had begun. */
  restartProofs(): boolean {
    const missing = [...this.#known].filter(([, known]) => known.missing !== undefined);
    for (const [key, { isUncertain }] of missing) this.#known.set(key, defined({ isUncertain }));
    return missing.length > 0;
  }

  /** The listing has a route for the destination. */
  noteThere(route: DesiredRoute): void {
    this.#known.set(keyOfRoute(route), {});
  }

  /** A listing has no route for the destination. `node` is the Node that needs it. */
  noteMissing(
    route: DesiredRoute,
    node: Node | undefined,
    { beganAt, knownAt }: { readonly beganAt: number; readonly knownAt: number },
  ): Absence {
    const key = keyOfRoute(route);
    const known = this.#known.get(key) ?? (node !== undefined && hadRoutes(node) ? {} : undefined);
    if (known === undefined || known.isNew !== undefined) return "new";
    const { isUncertain } = known;
    const firstKnownAt = known.missing?.firstKnownAt ?? knownAt;
    this.#known.set(key, defined({ missing: { firstKnownAt, lastBeganAt: beganAt }, isUncertain }));
    const isProved = this.#confirmAfter() === 0 || beganAt - firstKnownAt >= this.#confirmAfter();
    if (isUncertain === true) return isProved ? "unlikely" : "uncertain";
    return isProved ? "proved" : "unproved";
  }

  /** Whether a listing, a creation or the Node shows that the route was there. */
  wasThere(route: DesiredRoute): boolean {
    const known = this.#known.get(keyOfRoute(route));
    return known !== undefined && known.isNew === undefined && known.isUncertain !== true;
  }

  /** A Node that exists already may have got another range: its condition does not cover the route for it. */
  noteChange({ before, after }: Change<Node>): void {
    if (before === undefined) return;
    if (after?.metadata.uid !== before.metadata.uid) {
      // Also on a replica that never leads.
      for (const { range } of podCIDRsOf(before)) {
        if (range !== undefined) this.#known.delete(keyOf(range, before.metadata.uid));
      }
      return;
    }
    if (before.spec.podCIDRs === after.spec.podCIDRs && before.spec.podCIDR === after.spec.podCIDR) return;
    const had = new Set(podCIDRsOf(before).map(({ range }) => range));
    for (const { range } of podCIDRsOf(after)) {
      if (range !== undefined && !had.has(range))
        this.#known.set(keyOf(range, after.metadata.uid), { isNew: "range" });
    }
  }

  /**
   * A route that was created was there, although the next listings may not show it yet. So may one whose creation failed without a clear
   * refusal, or that the cloud has accepted without an operation.
   */
  noteResults(
    results: readonly ChangeResult[],
    desiredAt: (change: ChangeResult["change"]) => DesiredRoute | undefined,
  ): void {
    for (const { change, outcome } of results) {
      const mayExist = change.do === "create" && mayHaveCreated(outcome);
      if (outcome.kind !== "done" && !mayExist) continue;
      const route = change.do === "create" ? change.route : desiredAt(change);
      if (route === undefined) continue;
      const key = keyOfRoute(route);
      const known = this.#known.get(key);
      // A replacement is tried again at once, because the Node has no route meanwhile.
      if (mayExist && known?.isNew === "replacement") continue;
      const there = mayExist && !this.wasThere(route) ? ({ isUncertain: true } as const) : {};
      this.#known.set(key, change.do === "create" ? there : { isNew: "replacement" });
    }
  }

  /** Forgets routes that no Node needs any more. */
  keepOnly(routes: readonly DesiredRoute[]): void {
    const keys = new Set(routes.map(keyOfRoute));
    for (const key of this.#known.keys()) if (!keys.has(key)) this.#known.delete(key);
  }

  /** When the first absence can be proved by another listing, monotonic. */
  get nextProof(): number | undefined {
    let next: number | undefined;
    for (const { missing } of this.#known.values()) {
      if (missing === undefined) continue;
      const at = missing.firstKnownAt + this.#confirmAfter();
      if (missing.lastBeganAt < at && (next === undefined || at < next)) next = at;
    }
    return next;
  }
}

function mayHaveCreated(outcome: ChangeResult["outcome"]): boolean {
  if (outcome.kind === "pending") return outcome.operation === undefined;
  return outcome.kind === "failed" && !isRefusal(outcome.error);
}

/** Another Node may take the name and the range. */
const keyOf = (destination: Cidr, uid: string): string => `${destination} ${uid}`;
const keyOfRoute = ({ destination, target }: DesiredRoute): string => keyOf(destination, target.uid);

/** Fairlead or a Go manager set the condition when all routes of the Node existed. */
export function hadRoutes({ status }: Node): boolean {
  const condition = status.conditions?.find(({ type }) => type === networkCondition);
  return condition?.status === "False" && condition.reason === "RouteCreated";
}

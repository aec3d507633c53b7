// Finds absent routes of which no change is planned: of Nodes without a known instance, of paused Nodes, and of Nodes that were deleted
// while the listing was doubted, also if another Node has the range now. They show that it is wrong: an account that shows nothing lacks
// instances and routes.

import type { Cidr } from "../../../core/brand.ts";
import { cidrFamily } from "../../../core/cidr.ts";
import type { TableOptions } from "../deps.ts";
import { isInsideCluster } from "../desired/cluster-cidrs.ts";
import { podCIDRsOf } from "../desired/plan-desired.ts";
import type { Survey } from "../plan/survey.ts";
import { hadRoutes } from "./route-evidence.ts";

type UnplannedOptions = Pick<TableOptions, "table" | "routes" | "clusterCIDRs">;

export class UnplannedAbsence {
  readonly #options: UnplannedOptions;
  /** What the last listing lacked, if it was doubted. */
  #doubted: ReadonlySet<Cidr> = new Set();

  constructor(options: UnplannedOptions) {
    this.#options = options;
  }

  /** Another replica may have led since. */
  begin(): void {
    this.#doubted = new Set();
  }

  find(survey: Pick<Survey, "desired" | "listing">): ReadonlySet<Cidr> {
    const listed = new Set(survey.listing.routes.map(({ destination }) => destination));
    return new Set([...this.#ofUnchanged(survey), ...this.#doubted].filter((range) => !listed.has(range)));
  }

  /**
   * Call it with each survey. `doubted` is what the listing lacks, if too much is absent. A doubt ends when nothing is absent that a
   * Node needs, not because Nodes were deleted meanwhile.
   */
  note(survey: Pick<Survey, "desired" | "listing">, doubted: ReadonlySet<Cidr>): void {
    // Those of Nodes whose instances are not known at this moment do not cause a doubt, but are absent too.
    if (doubted.size > 0 || this.#ofUnchanged(survey).length === 0) this.#doubted = doubted;
  }

  #ofUnchanged({ desired, listing }: Pick<Survey, "desired" | "listing">): readonly Cidr[] {
    const { table, routes, clusterCIDRs } = this.#options;
    // With several tables, the condition of the Node does not say which ones had its routes.
    if (table !== undefined) return [];
    const listed = new Set(listing.routes.map(({ destination }) => destination));
    const ranges = [...desired.waiting, ...desired.paused].filter(hadRoutes).flatMap(podCIDRsOf);
    return ranges.flatMap(({ range }) =>
      range !== undefined &&
      routes.families.includes(cidrFamily(range)) &&
      isInsideCluster(clusterCIDRs, range) &&
      !listed.has(range)
        ? range
        : [],
    );
  }
}

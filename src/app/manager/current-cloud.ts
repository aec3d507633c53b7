// The connection to the cloud that is used now. A reload replaces it, for example to use a new credential; the controllers keep
// one object that always forwards to the current connection.

import type { GovernedAccount } from "../../cloud/account.ts";
import { defined } from "../../core/defined.ts";
import { listingPartsOf } from "../../provider/listing-parts.ts";
import { isTableList, type ServingTable, tablesOf } from "../../provider/route-tables.ts";
import type { RouteTables } from "../../provider/routes.ts";
import type { AnyCloud, ConnectedCloud } from "../connect-cloud.ts";

export class CurrentCloud implements ConnectedCloud {
  readonly cloud: AnyCloud;
  #connected: ConnectedCloud;

  constructor(first: ConnectedCloud) {
    this.#connected = first;
    const { instances, pending, loadBalancers, routes, changes } = first.cloud;
    const forward = <T extends object>(part: T | undefined, current: () => T | undefined): T | undefined =>
      part && forwardTo(() => current() ?? part);
    this.cloud = defined({
      // The inventory replaces its sources.
      instances,
      pending: forward(pending, () => this.#connected.cloud.pending),
      loadBalancers: forward(loadBalancers, () => this.#connected.cloud.loadBalancers),
      routes: routes && this.#forwardRoutes(routes),
      changes: forward(changes, () => this.#connected.cloud.changes),
    });
  }

  /** Several tables by name: `changedShape` keeps the names as they are. */
  #forwardRoutes(routes: RouteTables): RouteTables {
    const current = (): readonly ServingTable[] => {
      const now = this.#connected.cloud.routes;
      return now === undefined ? [] : tablesOf(now);
    };
    const forwarded = tablesOf(routes).map(({ name, routes: first }) =>
      forwardTo(() => current().find((table) => table.name === name)?.routes ?? first),
    );
    return (isTableList(routes) ? forwarded : forwarded[0]) as RouteTables;
  }

  get accounts(): readonly GovernedAccount<unknown>[] {
    return this.#connected.accounts;
  }

  get origins(): readonly string[] {
    return this.#connected.origins;
  }

  replace(next: ConnectedCloud): void {
    this.#connected = next;
  }
}

/** An object with the members that the current target has at the moment of each access. */
function forwardTo<T extends object>(current: () => T): T {
  const noMembers = {} as T;
  return new Proxy(noMembers, {
    get: (_, name) => {
      const target = current();
      const member: unknown = Reflect.get(target, name);
      // Bound to the target: a provider's methods may use its private members.
      return typeof member === "function" ? member.bind(target) : member;
    },
    has: (_, name) => Reflect.has(current(), name),
  });
}

/** What the controllers have relied on since the start of the process. Undefined if the next connection has the same. */
export function changedShape(before: AnyCloud, after: AnyCloud): string | undefined {
  const [old, next] = [shapeOf(before), shapeOf(after)];
  return Object.keys(old).find((part) => old[part] !== next[part]);
}

function shapeOf(cloud: AnyCloud): Readonly<Record<string, string>> {
  const { instances, pending, loadBalancers, routes, changes } = cloud;
  return {
    "the sources of instances": (instances?.sources ?? []).map(({ name }) => name).join(", "),
    "the sources of instances without access": (instances?.unreadable ?? [])
      .map(({ name }) => name)
      .join(", "),
    "how Nodes are matched": (instances?.matchBy ?? []).join(", "),
    "label prefixes": (instances?.labelPrefixes ?? []).join(", "),
    operations: String(pending !== undefined),
    "whether the cloud reports changes": String(changes !== undefined),
    "load balancers": String(loadBalancers !== undefined),
    "the parts in which load balancers are listed":
      loadBalancers === undefined
        ? ""
        : listingPartsOf(loadBalancers)
            .map(({ name }) => name)
            .join(", "),
    routes:
      routes === undefined
        ? "none"
        : tablesOf(routes)
            .map(({ name }) => name ?? "one table")
            .join(", "),
  };
}

// The route tables of a cloud as a list, whether the provider has one or several. Pure.

import type { Problem } from "../core/problem.ts";
import type { Routes, RouteTables, RouteTarget } from "./routes.ts";

/** A table, and which targets it serves. */
export interface ServingTable {
  /** Undefined if the cloud has one table. */
  readonly name: string | undefined;
  readonly routes: Routes;
  readonly serves: (target: RouteTarget) => boolean;
}

export function tablesOf(routes: RouteTables): readonly ServingTable[] {
  if (!isTableList(routes)) return [{ name: undefined, routes, serves: () => true }];
  return routes.map((table) => ({
    name: table.name,
    routes: table,
    serves: (target) => table.serves?.(target) ?? true,
  }));
}

export function isTableList(routes: RouteTables): routes is Exclude<RouteTables, Routes> {
  return Array.isArray(routes);
}

/** Names identify tables in messages, metrics and from one session to the next. */
export function tableNameProblems(routes: RouteTables | undefined): readonly Problem[] {
  const names = routes === undefined ? [] : tablesOf(routes).flatMap(({ name }) => name ?? []);
  const repeated = new Set(names.filter((name, index) => names.indexOf(name) < index));
  return [...repeated].map((name) => ({
    severity: "error",
    reason: "DuplicateRouteTable",
    text: `Two route tables of the cloud have the name ${JSON.stringify(name)}, so none can be managed. Give each network or region of the configuration its own name.`,
  }));
}

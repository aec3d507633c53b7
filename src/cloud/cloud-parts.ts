// The objects of a connected cloud whose functions the framework calls, so that all of them can be wrapped in one way.

import type { Fields } from "../core/settings.ts";
import type { Changes } from "../provider/changes.ts";
import type { InstanceLookup, InstanceSource } from "../provider/instances.ts";
import type { LoadBalancers, ObservedLoadBalancer } from "../provider/load-balancers.ts";
import type { MachineTags } from "../provider/machine-tags.ts";
import type { NodeFirewall } from "../provider/node-firewall.ts";
import type { Pending, Step } from "../provider/plan.ts";
import type { AnyCloud } from "../provider/provider.ts";
import { isTableList } from "../provider/route-tables.ts";
import type { Routes, RouteTables } from "../provider/routes.ts";
import type { Snapshots, Volumes } from "../provider/volumes.ts";

export interface CloudParts {
  readonly cloud: AnyCloud;
  /** Each source. */
  readonly instances: InstanceSource;
  /** Each lookup of a source. */
  readonly lookups: InstanceLookup;
  readonly pending: Pending;
  readonly loadBalancers: LoadBalancers<Fields, ObservedLoadBalancer, Step, unknown>;
  readonly nodeFirewall: NodeFirewall<Fields, Step>;
  readonly machineTags: MachineTags;
  /** Each table. */
  readonly routes: Routes;
  readonly volumes: Volumes;
  readonly snapshots: Snapshots;
  readonly changes: Changes;
}

export type PartName = keyof CloudParts;

/** The members to replace. `part` is a copy whose functions work without their object; `path` names it in messages. */
export type WrapPart = <Name extends PartName>(
  name: Name,
  part: CloudParts[Name],
  path: string,
) => Partial<CloudParts[Name]>;

export function wrapParts(cloud: AnyCloud, wrapPart: WrapPart): AnyCloud {
  const wrap = <Name extends PartName>(
    name: Name,
    part: CloudParts[Name] | undefined,
    path: string = name,
  ): CloudParts[Name] | undefined => {
    if (part === undefined) return undefined;
    const copy = boundCopy(part);
    return { ...copy, ...wrapPart(name, copy, path) };
  };
  const wrapSource = (source: InstanceSource): InstanceSource => {
    const lookups = Object.entries(source.lookups ?? {}).map(([by, lookup]) => [
      by,
      wrap("lookups", lookup, `instances.lookups.${by}`),
    ]);
    const wrapped = wrap("instances", source) ?? source;
    return source.lookups === undefined ? wrapped : { ...wrapped, lookups: Object.fromEntries(lookups) };
  };
  const wrapTables = (tables: RouteTables): RouteTables =>
    (isTableList(tables)
      ? tables.map((table) => wrap("routes", table))
      : wrap("routes", tables)) as RouteTables;
  const wrapVolumes = (all: Volumes): Volumes => ({
    ...(wrap("volumes", all) ?? all),
    snapshots: wrap("snapshots", all.snapshots, "volumes.snapshots"),
  });
  const { instances, pending, loadBalancers, nodeFirewall, machineTags } = cloud;
  const { routes, volumes, changes } = cloud;
  const sources = (instances?.sources ?? []).map(wrapSource) as [InstanceSource];
  return {
    ...(wrap("cloud", cloud) ?? cloud),
    ...(instances && { instances: { ...boundCopy(instances), sources } }),
    ...(pending && { pending: wrap("pending", pending) }),
    ...(loadBalancers && { loadBalancers: wrap("loadBalancers", loadBalancers) }),
    ...(nodeFirewall && { nodeFirewall: wrap("nodeFirewall", nodeFirewall) }),
    ...(machineTags && { machineTags: wrap("machineTags", machineTags) }),
    ...(routes && { routes: wrapTables(routes) }),
    ...(volumes && { volumes: wrapVolumes(volumes) }),
    ...(changes && { changes: wrap("changes", changes) }),
  };
}

/**
 * A copy whose members can be replaced one by one: a spread would lose the methods of an instance of a class. Its functions work without
 * their object. Getters become their current values.
 */
export function boundCopy<T extends object>(object: T): T {
  const copy: Record<PropertyKey, unknown> = {};
  for (
    let from: object | null = object;
    from !== null && from !== Object.prototype;
    from = Object.getPrototypeOf(from)
  ) {
    for (const key of Reflect.ownKeys(from)) {
      if (key === "constructor" || Object.hasOwn(copy, key)) continue;
      const value: unknown = Reflect.get(object, key);
      copy[key] = typeof value === "function" ? value.bind(object) : value;
    }
  }
  return copy as T;
}

// Passes every asynchronous call of a provider through a `CallGuard`, which gives up calls that ignore their cancellation.

import { boundCopy } from "../core/bound-copy.ts";
import type { Fields } from "../core/settings.ts";
import { shortList } from "../core/text.ts";
import type { InstanceLookup, InstanceSource } from "../provider/instances.ts";
import { inPart } from "../provider/listing-parts.ts";
import type { LoadBalancers, ObservedLoadBalancer } from "../provider/load-balancers.ts";
import type { Step } from "../provider/plan.ts";
import type { Cloud } from "../provider/provider.ts";
import { isTableList } from "../provider/route-tables.ts";
import type { DesiredRoute, NamedRoutes, Routes, RouteTables } from "../provider/routes.ts";
import { CallGuard, type CallGuardOptions } from "./call-guard.ts";

type AnyCloud = Cloud<Fields, ObservedLoadBalancer, Step, unknown>;
type AnyBalancers = LoadBalancers<Fields, ObservedLoadBalancer, Step, unknown>;

function guardSource(source: InstanceSource, guard: CallGuard): InstanceSource {
  const guardLookup = (by: string, lookup: InstanceLookup): InstanceLookup => ({
    limit: lookup.limit,
    find: (keys, call) =>
      guard.call({ operation: `instances.lookups.${by}`, object: () => shortList(keys) }, call.signal, () =>
        lookup.find(keys, call),
      ),
  });
  const copy = boundCopy(source);
  const lookups = Object.entries(source.lookups ?? {}).map(([by, lookup]) => [
    by,
    lookup && guardLookup(by, lookup),
  ]);
  return {
    ...copy,
    list: (call) => guard.pages("instances.list", copy.list, call),
    ...(source.lookups !== undefined && { lookups: Object.fromEntries(lookups) }),
  };
}

function guardBalancers(balancers: AnyBalancers, guard: CallGuard): AnyBalancers {
  const copy = boundCopy(balancers);
  const { list, apply, observe, prefetch } = copy;
  return {
    ...copy,
    list:
      typeof list === "function"
        ? (call) => guard.pages("loadBalancers.list", list, call)
        : list.map((part) => ({
            name: part.name,
            list: (call) =>
              guard.pages(`loadBalancers.list${inPart(part.name)}`, (given) => part.list(given), call),
          })),
    apply: (step, call) =>
      guard.call({ operation: "loadBalancers.apply", object: () => describeStep(step) }, call.signal, () =>
        apply(step, call),
      ),
    ...(observe && {
      observe: (members, listed, call) => {
        const object = (): string =>
          shortList(members.map(({ owner }) => `${owner.namespace}/${owner.name}`));
        const begin = (): ReturnType<typeof observe> => observe(members, listed, call);
        return guard.call({ operation: "loadBalancers.observe", object }, call.signal, begin);
      },
    }),
    ...(prefetch && {
      prefetch: (desired, call) =>
        guard.call({ operation: "loadBalancers.prefetch" }, call.signal, () => prefetch(desired, call)),
    }),
  };
}

function describeStep(step: Step): string {
  return step.on === undefined ? step.do : `${step.do} ${step.on}`;
}

function describeRoutes(routes: readonly Pick<DesiredRoute, "destination">[]): string {
  return shortList(routes.map(({ destination }) => destination));
}

function guardRoutes(routes: Routes, guard: CallGuard): Routes {
  if (routes.style === "document") {
    const copy = boundCopy(routes);
    const { read, change } = copy;
    return {
      ...copy,
      read: (call) => guard.call({ operation: "routes.read" }, call.signal, () => read(call)),
      change: (changes, before, call) => {
        const object = (): string => describeRoutes([...changes.create, ...changes.remove]);
        return guard.call({ operation: "routes.change", object }, call.signal, () =>
          change(changes, before, call),
        );
      },
    };
  }
  const copy = boundCopy(routes);
  const { list, create, remove } = copy;
  return {
    ...copy,
    list: (call) => guard.pages("routes.list", list, call),
    create: (route, call) =>
      guard.call({ operation: "routes.create", object: () => describeRoutes([route]) }, call.signal, () =>
        create(route, call),
      ),
    remove: (route, call) =>
      guard.call({ operation: "routes.remove", object: () => describeRoutes([route]) }, call.signal, () =>
        remove(route, call),
      ),
  };
}

function guardTables(tables: RouteTables, guard: CallGuard): RouteTables {
  if (!isTableList(tables)) return guardRoutes(tables, guard);
  const [first, ...others] = tables.map((table) => guardRoutes(table, guard) as NamedRoutes);
  return first === undefined ? tables : [first, ...others];
}

export function withCallGuard(cloud: AnyCloud, options: CallGuardOptions): AnyCloud {
  const guard = new CallGuard(options);
  const { instances, pending, loadBalancers, routes, changes } = cloud;
  return {
    ...boundCopy(cloud),
    ...(changes && {
      changes: {
        maxSilence: changes.maxSilence,
        follow: (call) => guard.pages("changes.follow", (given) => changes.follow(given), call),
      },
    }),
    ...(instances && {
      instances: {
        ...boundCopy(instances),
        sources: instances.sources.map((source) => guardSource(source, guard)) as [InstanceSource],
      },
    }),
    ...(pending && {
      pending: {
        ...boundCopy(pending),
        check: (ids, call) =>
          guard.call({ operation: "pending.check", object: () => shortList(ids) }, call.signal, () =>
            pending.check(ids, call),
          ),
      },
    }),
    ...(loadBalancers && { loadBalancers: guardBalancers(loadBalancers, guard) }),
    ...(routes && { routes: guardTables(routes, guard) }),
  };
}

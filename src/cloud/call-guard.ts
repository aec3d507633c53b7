// Gives up calls of a provider that ignore their cancellation: a promise that never settles must not hold up a reload, the end of
// leadership or a shutdown. The caller gets an error, and a late result is discarded. No error contains a secret.

import { boundCopy } from "../core/bound-copy.ts";
import { minutes, seconds } from "../core/brand.ts";
import { formatDuration } from "../core/duration.ts";
import type { Redaction } from "../core/redaction.ts";
import type { Fields } from "../core/settings.ts";
import { shortList } from "../core/text.ts";
import type { Clock } from "../platform/clock.ts";
import type { Call } from "../provider/call.ts";
import { CloudError } from "../provider/errors.ts";
import type { InstanceLookup, InstanceSource } from "../provider/instances.ts";
import { inPart } from "../provider/listing-parts.ts";
import type { LoadBalancers, ObservedLoadBalancer } from "../provider/load-balancers.ts";
import type { NodeFirewall } from "../provider/node-firewall.ts";
import type { Step } from "../provider/plan.ts";
import type { Cloud } from "../provider/provider.ts";
import { isTableList } from "../provider/route-tables.ts";
import type { DesiredRoute, NamedRoutes, Routes, RouteTables } from "../provider/routes.ts";
import type { ObservedVolume, Volumes } from "../provider/volumes.ts";

/** A call that did not end in time. */
export interface AbandonedCall {
  /** The method of the provider contract, such as `loadBalancers.apply`. */
  readonly operation: string;
  /** What the call is about; empty for a call about everything. */
  readonly object: string;
  /** Why it should have ended. */
  readonly why: "cancelled" | "replaced";
}

export interface CallGuardOptions {
  readonly clock: Clock;
  /** Aborted when the connection is replaced. */
  readonly replaced: AbortSignal;
  readonly onAbandoned: (call: AbandonedCall) => void;
  /** Removes secrets from the errors. */
  readonly redaction: Redaction;
}

/** What is called, for messages. */
export interface GuardedCall {
  readonly operation: string;
  readonly object?: () => string;
}

/** How long a call may take to end. One that observes its cancellation ends immediately. */
export const timeToEnd = { cancelled: seconds(2), replaced: minutes(1) } as const;

export class CallGuard {
  readonly #options: CallGuardOptions;

  constructor(options: CallGuardOptions) {
    this.#options = options;
  }

  /** Settles like the call, or rejects when it has not ended in time. */
  call<T>({ operation, object }: GuardedCall, signal: AbortSignal, begin: () => Promise<T>): Promise<T> {
    const { clock, replaced, onAbandoned, redaction } = this.#options;
    return new Promise<T>((resolve, reject) => {
      const done = new AbortController();
      const limit = (why: AbandonedCall["why"]): void => {
        const giveUp = (): void => {
          done.abort();
          onAbandoned({ operation, object: object?.() ?? "", why });
          reject(notEnded(operation, why));
        };
        done.signal.addEventListener("abort", clock.after(timeToEnd[why], giveUp), { once: true });
      };
      for (const [why, from] of [["cancelled", signal] as const, ["replaced", replaced] as const]) {
        if (from.aborted) limit(why);
        else from.addEventListener("abort", () => limit(why), { once: true, signal: done.signal });
      }
      const begun = async (): Promise<T> => begin();
      begun()
        .finally(() => done.abort())
        .then(resolve, (error: unknown) => reject(redaction.clean(error)));
    });
  }

  async *pages<P>(operation: string, list: (call: Call) => AsyncIterable<P>, call: Call): AsyncIterable<P> {
    const pages = list(call)[Symbol.asyncIterator]();
    let isAtPage = false;
    try {
      for (;;) {
        const next = await this.call({ operation }, call.signal, () => pages.next());
        if (next.done === true) return;
        isAtPage = true;
        yield next.value;
        isAtPage = false;
      }
    } finally {
      // The reader stopped. Between pages, a listing that hangs would not end.
      if (isAtPage) await this.call({ operation }, call.signal, async () => pages.return?.());
    }
  }
}

function notEnded(operation: string, why: AbandonedCall["why"]): CloudError {
  const since = why === "cancelled" ? "its cancellation" : "its connection was replaced";
  return new CloudError(
    "unavailable",
    `${operation} of the provider did not end within ${formatDuration(timeToEnd[why])} after ${since}, so its result is discarded.`,
    { operation },
  );
}

// Passes every asynchronous call of a provider through a `CallGuard`, which gives up calls that ignore their cancellation.

type AnyCloud = Cloud<Fields, ObservedLoadBalancer, Step, unknown>;
type AnyBalancers = LoadBalancers<Fields, ObservedLoadBalancer, Step, unknown>;
type AnyFirewall = NodeFirewall<Fields, Step>;

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

function guardFirewall(firewall: AnyFirewall, guard: CallGuard): AnyFirewall {
  const copy = boundCopy(firewall);
  const { observe, apply } = copy;
  return {
    ...copy,
    observe: (call) => guard.call({ operation: "nodeFirewall.observe" }, call.signal, () => observe(call)),
    apply: (step, call) =>
      guard.call({ operation: "nodeFirewall.apply", object: () => describeStep(step) }, call.signal, () =>
        apply(step, call),
      ),
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

function guardVolumes(volumes: Volumes, guard: CallGuard): Volumes {
  const { list, get, create, remove, attach, detach, expand } = boundCopy(volumes);
  const guarded = <T>(operation: string, object: string, call: Call, begin: () => Promise<T>): Promise<T> =>
    guard.call({ operation: `volumes.${operation}`, object: () => object }, call.signal, begin);
  const titleOf = ({ id, name }: ObservedVolume): string => `${name} (${id})`;
  return {
    list: (call) => guard.pages("volumes.list", list, call),
    get: (id, call) => guarded("get", id, call, () => get(id, call)),
    create: (desired, call) => guarded("create", desired.name, call, () => create(desired, call)),
    remove: (volume, call) => guarded("remove", titleOf(volume), call, () => remove(volume, call)),
    attach: (volume, machine, call) =>
      guarded("attach", titleOf(volume), call, () => attach(volume, machine, call)),
    detach: (volume, machine, call) =>
      guarded("detach", titleOf(volume), call, () => detach(volume, machine, call)),
    expand: (volume, size, call) =>
      guarded("expand", titleOf(volume), call, () => expand(volume, size, call)),
  };
}

export function withCallGuard(cloud: AnyCloud, options: CallGuardOptions): AnyCloud {
  const guard = new CallGuard(options);
  const copy = boundCopy(cloud);
  const { instances, pending, loadBalancers, nodeFirewall, routes, volumes, changes, checkSettings } = copy;
  return {
    ...copy,
    ...(checkSettings && {
      checkSettings: (call) =>
        guard.call({ operation: "checkSettings" }, call.signal, () => checkSettings(call)),
    }),
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
    ...(nodeFirewall && { nodeFirewall: guardFirewall(nodeFirewall, guard) }),
    ...(routes && { routes: guardTables(routes, guard) }),
    ...(volumes && { volumes: guardVolumes(volumes, guard) }),
  };
}

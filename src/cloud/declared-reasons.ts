// Replaces reasons that a provider did not declare in the problems of its plans, instances and routes, so that metrics and alerts
// have a closed list of reasons. An undeclared reason is a fault of the provider, and is logged once.
// Their texts lose the secrets.

import { boundCopy } from "../core/bound-copy.ts";
import type { Problem } from "../core/problem.ts";
import type { Fields } from "../core/settings.ts";
import type { Instance, InstanceLookup, InstanceSource } from "../provider/instances.ts";
import type { LoadBalancers, ObservedLoadBalancer } from "../provider/load-balancers.ts";
import type { Step } from "../provider/plan.ts";
import type { Cloud } from "../provider/provider.ts";
import {
  commonReasons,
  type DeclaredReasons,
  meaningsOf,
  type Problem as ProviderProblem,
  type Reason,
  undeclaredReason,
} from "../provider/reasons.ts";
import { isTableList } from "../provider/route-tables.ts";
import type { NamedRoutes, RouteDocument, RoutePage, Routes, RouteTables } from "../provider/routes.ts";

type AnyCloud = Cloud<Fields, ObservedLoadBalancer, Step, unknown>;
type AnyBalancers = LoadBalancers<Fields, ObservedLoadBalancer, Step, unknown>;

interface WithProblems {
  readonly problems?: readonly ProviderProblem[] | undefined;
}

export interface ReasonCheckOptions {
  readonly onUndeclared: (reason: string) => void;
  readonly redact: (text: string) => string;
}

/** More are not logged: a provider may make reasons from text. */
const maxLogged = 20;

class ReasonCheck {
  readonly #known: ReadonlySet<string>;
  readonly #onUndeclared: (reason: string) => void;
  readonly #redact: (text: string) => string;
  readonly #logged = new Set<string>();

  constructor(declared: DeclaredReasons | undefined, { onUndeclared, redact }: ReasonCheckOptions) {
    this.#known = new Set([...Object.keys(commonReasons), ...Object.keys(meaningsOf(declared))]);
    this.#onUndeclared = onUndeclared;
    this.#redact = redact;
  }

  /** The same object where nothing is undeclared, and no text has a secret. */
  readonly of = <T extends WithProblems>(object: T): T => {
    const { problems } = object;
    if (problems === undefined || problems.length === 0) return object;
    const checked = problems.map((problem) => this.#declared(this.#withoutSecrets(problem)));
    return checked.every((problem, index) => problem === problems[index])
      ? object
      : { ...object, problems: checked };
  };

  #withoutSecrets(problem: ProviderProblem): ProviderProblem {
    const text = this.#redact(problem.text);
    return text === problem.text ? problem : { ...problem, text };
  }

  #declared(problem: Problem): Problem & { readonly reason: Reason } {
    const { reason } = problem;
    if (this.#known.has(reason)) return problem as ProviderProblem;
    if (!this.#logged.has(reason) && this.#logged.size < maxLogged) {
      this.#logged.add(reason);
      this.#onUndeclared(reason);
    }
    return { ...problem, reason: undeclaredReason as string as Reason };
  }
}

async function* mapPages<T, R>(pages: AsyncIterable<T>, change: (page: T) => R): AsyncIterable<R> {
  for await (const page of pages) yield change(page);
}

function checkedSource(source: InstanceSource, check: ReasonCheck): InstanceSource {
  const checkedAll = (instances: readonly Instance[]): readonly Instance[] =>
    instances.some(({ problems }) => problems !== undefined) ? instances.map(check.of) : instances;
  const { lookups = {} } = source;
  const checkedLookup = (lookup: InstanceLookup): InstanceLookup => ({
    limit: lookup.limit,
    find: async (keys, call) =>
      new Map([...(await lookup.find(keys, call))].map(([asked, found]) => [asked, checkedAll(found)])),
  });
  const checkedLookups = Object.entries(lookups).map(([by, lookup]) => [by, lookup && checkedLookup(lookup)]);
  return {
    ...boundCopy(source),
    list: (call) => mapPages(source.list(call), checkedAll),
    ...(source.lookups !== undefined && { lookups: Object.fromEntries(checkedLookups) }),
  };
}

function checkedBalancers(balancers: AnyBalancers, check: ReasonCheck): AnyBalancers {
  return { ...boundCopy(balancers), plan: (...args) => check.of(balancers.plan(...args)) };
}

function checkedTables(tables: RouteTables, check: ReasonCheck): RouteTables {
  if (!isTableList(tables)) return checkedRoutes(tables, check);
  const [first, ...others] = tables.map((table) => checkedRoutes(table, check) as NamedRoutes);
  return first === undefined ? tables : [first, ...others];
}

function checkedRoutes(routes: Routes, check: ReasonCheck): Routes {
  const checked = <P extends RoutePage | RouteDocument>(page: P): P => ({
    ...check.of(page),
    routes: page.routes.map(check.of),
  });
  return routes.style === "document"
    ? { ...boundCopy(routes), read: async (call) => checked(await routes.read(call)) }
    : { ...boundCopy(routes), list: (call) => mapPages(routes.list(call), checked) };
}

export function withDeclaredReasons(
  cloud: AnyCloud,
  declared: DeclaredReasons | undefined,
  options: ReasonCheckOptions,
): AnyCloud {
  const check = new ReasonCheck(declared, options);
  const { instances, loadBalancers, nodeFirewall, routes } = cloud;
  return {
    ...boundCopy(cloud),
    ...(instances && {
      instances: {
        ...boundCopy(instances),
        sources: instances.sources.map((source) => checkedSource(source, check)) as [InstanceSource],
      },
    }),
    ...(loadBalancers && { loadBalancers: checkedBalancers(loadBalancers, check) }),
    ...(nodeFirewall && {
      nodeFirewall: {
        ...boundCopy(nodeFirewall),
        observe: async (call) => check.of(await nodeFirewall.observe(call)),
      },
    }),
    ...(routes && { routes: checkedTables(routes, check) }),
  };
}

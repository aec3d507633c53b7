// Replaces reasons that a provider did not declare in the problems of its plans, instances and routes, so that metrics and alerts
// have a closed list of reasons. An undeclared reason is a fault of the provider, and is logged once.
// Their texts lose the secrets.

import type { Problem } from "../core/problem.ts";
import type { Instance } from "../provider/instances.ts";
import {
  commonReasons,
  type DeclaredReasons,
  meaningsOf,
  type Problem as ProviderProblem,
  type Reason,
  undeclaredReason,
} from "../provider/reasons.ts";
import type { RouteDocument, RoutePage } from "../provider/routes.ts";
import { type CloudParts, type PartName, wrapParts } from "./cloud-parts.ts";

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

export function withDeclaredReasons(
  cloud: CloudParts["cloud"],
  declared: DeclaredReasons | undefined,
  options: ReasonCheckOptions,
): CloudParts["cloud"] {
  const check = new ReasonCheck(declared, options);
  const checkedAll = (instances: readonly Instance[]): readonly Instance[] =>
    instances.some(({ problems }) => problems !== undefined) ? instances.map(check.of) : instances;
  const checkedPage = <P extends RoutePage | RouteDocument>(page: P): P => ({
    ...check.of(page),
    routes: page.routes.map(check.of),
  });
  const checked: { readonly [Name in PartName]?: (part: CloudParts[Name]) => Partial<CloudParts[Name]> } = {
    instances: ({ list }) => ({ list: (call) => mapPages(list(call), checkedAll) }),
    lookups: ({ find }) => ({
      find: async (keys, call) =>
        new Map([...(await find(keys, call))].map(([asked, found]) => [asked, checkedAll(found)])),
    }),
    loadBalancers: ({ plan }) => ({ plan: (...args) => check.of(plan(...args)) }),
    nodeFirewall: ({ observe }) => ({ observe: async (call) => check.of(await observe(call)) }),
    routes: (routes) => {
      if (routes.style === "document") {
        const { read } = routes;
        return { read: async (call) => checkedPage(await read(call)) };
      }
      const { list } = routes;
      return { list: (call) => mapPages(list(call), checkedPage) };
    },
  };
  return wrapParts(cloud, (name, part) => checked[name]?.(part) ?? {});
}

// The parts of a cloud's listing of load balancers as a list, whether the provider has one or several. Pure.

import type { Fields } from "../core/settings.ts";
import type { Call } from "./call.ts";
import type { ListingPart, LoadBalancers, ObservedLoadBalancer } from "./load-balancers.ts";
import type { Step } from "./plan.ts";
import type { ConfigProblem } from "./provider.ts";

type Listed<O extends ObservedLoadBalancer> = Pick<LoadBalancers<Fields, O, Step, unknown>, "list">;

/** The name of the only part of a cloud that does not name its parts. */
export const onlyPart = "";

export function listingPartsOf<O extends ObservedLoadBalancer>(
  balancers: Listed<O>,
): readonly ListingPart<O>[] {
  const { list } = balancers;
  if (isPartList(list)) return list;
  return [{ name: onlyPart, list: (call) => list.call(balancers, call) }];
}

export function isPartList<O extends ObservedLoadBalancer>(
  list: LoadBalancers<Fields, O, Step, unknown>["list"],
): list is readonly ListingPart<O>[] {
  return Array.isArray(list);
}

/** Lists one part with the current connection. A reload that would change the names is refused. */
export function listPart<O extends ObservedLoadBalancer>(
  balancers: Listed<O>,
  name: string,
  call: Call,
): AsyncIterable<readonly O[]> {
  const part = listingPartsOf(balancers).find((each) => each.name === name);
  if (part === undefined) throw new Error(`The cloud no longer lists load balancers${inPart(name)}.`);
  return part.list(call);
}

/** " in fsn1", or empty if the cloud does not name its parts. */
export function inPart(name: string): string {
  return name === onlyPart ? "" : ` in ${name}`;
}

/** Names identify parts in messages and across reloads. Without any part, every load balancer would seem absent. */
export function listingPartProblems(
  balancers: Listed<ObservedLoadBalancer> | undefined,
): readonly ConfigProblem[] {
  if (balancers === undefined || !isPartList(balancers.list)) return [];
  const names = balancers.list.map(({ name }) => name);
  if (names.length === 0)
    return [
      problem(
        "The cloud has no region or zone in which load balancers are listed, so none can be managed. Configure one.",
      ),
    ];
  if (names.includes(onlyPart))
    return [
      problem(
        "A part of the listing of load balancers has no name, so none can be managed. Give each region or zone of the configuration a name.",
      ),
    ];
  const repeated = new Set(names.filter((name, index) => names.indexOf(name) < index));
  return [...repeated].map((name) =>
    problem(
      `Two parts of the listing of load balancers have the name ${JSON.stringify(name)}, so none can be managed. Give each region or zone of the configuration its own name.`,
    ),
  );
}

function problem(text: string): ConfigProblem {
  return { severity: "error", reason: "InvalidListingParts", text };
}

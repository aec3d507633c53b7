// Which external services go when a load balancer no longer needs them. Several load balancers share them, and plans of two of
// them may run at the same time: so the last request of each looks at the consumers once more. Pure.

import type { Mark, Observed, RancherStep, ServiceInUse } from "./model.ts";
import { clusterOf, markedOwner, ownersByName, withoutMark } from "./names.ts";

function removalOf(
  { balancer }: Observed,
  { service }: ServiceInUse,
  { cluster }: Mark,
  isLeftover: boolean,
): readonly RancherStep[] {
  const { name, links = {}, actions = {}, metadata } = service;
  const { self, consumedbyservices: consumers } = links;
  if (self === undefined || consumers === undefined || actions["remove"] === undefined) return [];
  const isMarked = markedOwner(metadata) !== undefined;
  const release = isMarked ? { release: withoutMark(metadata), cluster, isLeftover } : {};
  const send = { kind: "remove unused", link: self, consumers, user: balancer.id, ...release } as const;
  return [{ do: "remove external service", on: name, send, targets: "all" }];
}

/** Those with the mark, and those that the Go manager made for a load balancer of its own: one for each Node, with one address. */
function candidates({ services, balancer }: Observed, { cluster }: Mark): readonly ServiceInUse[] {
  const hasGoName = ownersByName(balancer.name).length > 0;
  return [...services.values()].filter(({ service: { state, metadata, externalIpAddresses } }) => {
    const marked = clusterOf(metadata);
    const isOwn = marked === undefined ? hasGoName && externalIpAddresses?.length === 1 : marked === cluster;
    return isOwn && state !== "removing";
  });
}

/** Whether nothing uses it since its creation or an earlier removal was interrupted. */
function isLeftover({ service, usedBy, isOrphan }: ServiceInUse, { owners }: Observed): boolean {
  const creator = markedOwner(service.metadata);
  return usedBy.length === 0 && creator !== undefined && (isOrphan || owners.includes(creator));
}

/** After a change of the rules: those that had a rule and have none now, and leftovers. */
export function removalsAfterChange(
  observed: Observed,
  mark: Mark,
  wanted: ReadonlySet<string>,
): readonly RancherStep[] {
  const { id } = observed.balancer;
  return candidates(observed, mark)
    .filter(({ service }) => !wanted.has(service.id))
    .flatMap((one) => {
      if (one.usedBy.some((user) => user.id === id)) return removalOf(observed, one, mark, false);
      return isLeftover(one, observed) ? removalOf(observed, one, mark, true) : [];
    });
}

/**
 * At the removal of the load balancer: all that it has a rule for. Each is removed by its last user. Those without a mark go before the
 * rules if only this load balancer uses them: without a rule, nothing shows that they were its own.
 */
export function removalsAtEnd(observed: Observed, mark: Mark) {
  const { id, lbConfig } = observed.balancer;
  const ruled = new Set(lbConfig?.portRules?.map(({ serviceId }) => serviceId));
  const removed = candidates(observed, mark).filter((one) => ruled.has(one.service.id));
  const left = candidates(observed, mark).filter(
    (one) => !ruled.has(one.service.id) && isLeftover(one, observed),
  );
  const isFirst = ({ service, usedBy }: ServiceInUse) =>
    clusterOf(service.metadata) === undefined && usedBy.every((user) => user.id === id);
  const remove = (isLeftover: boolean) => (one: ServiceInUse) => removalOf(observed, one, mark, isLeftover);
  return {
    first: removed.filter(isFirst).flatMap(remove(false)),
    last: [...removed.filter((one) => !isFirst(one)).flatMap(remove(false)), ...left.flatMap(remove(true))],
  };
}

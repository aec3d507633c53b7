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

/** After the removal of the load balancer: all that it has a rule for. Each is removed by its last user. */
export function removalsAtEnd(observed: Observed, mark: Mark): readonly RancherStep[] {
  const ruled = new Set(observed.balancer.lbConfig?.portRules?.map(({ serviceId }) => serviceId));
  return candidates(observed, mark).flatMap((one) => {
    if (ruled.has(one.service.id)) return removalOf(observed, one, mark, false);
    return isLeftover(one, observed) ? removalOf(observed, one, mark, true) : [];
  });
}

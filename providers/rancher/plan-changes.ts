// Plans the changes of an existing load balancer itself, and which external services go when it no longer needs them. Pure.

import {
  clusterOf,
  type Desired,
  type Mark,
  markedOwner,
  metadataOf,
  type Observed,
  ownersByName,
  type RancherStep,
  type ServiceInUse,
  withoutMark,
} from "./balancer.ts";
import { addressFor } from "./launch.ts";
import { retarget, sameConfig, sameRules } from "./lb-config.ts";
import { portsOf, publishedPorts } from "./ports.ts";
import type { LbConfig } from "./resources.ts";

/** In these states, the server offers changes too. */
const upgrades: ReadonlySet<string> = new Set(["upgrading", "finishing-upgrade"]);

/** In one request. Fields that are the same are not sent, so that the server starts no update for them. */
export function planChanges(
  desired: Desired,
  observed: Observed,
  config: LbConfig,
  mark: Mark,
): readonly RancherStep[] | "not now" {
  const { balancer } = observed;
  const { name, links = {}, actions = {}, metadata } = balancer;
  const scale = desired.settings["lb-scale"];
  const isScaled = typeof scale !== "number" || scale === (balancer.scale ?? 1);
  const wanted = new Set(config.portRules?.flatMap(({ serviceId }) => serviceId ?? []));
  const obsolete = removalsAfterChange(observed, mark, wanted);
  const isSame = sameConfig(config, balancer);
  // The rules do not publish their ports.
  const ports = publishedPorts(portsOf(desired), addressFor(desired, observed));
  const isPublished = (balancer.launchConfig?.ports ?? []).toSorted().join() === ports.join();
  if (isSame && isScaled && isPublished) return [...planLinks(observed, wanted), ...obsolete];
  const { self } = links;
  if (self === undefined || actions["update"] === undefined) return "not now";
  // The server would store the ports, and its containers would keep those that they have.
  if (!isPublished && upgrades.has(balancer.state)) return "not now";
  const body = {
    ...(!isSame && { lbConfig: config }),
    ...(!isScaled && { scale }),
    ...(!isPublished && { launchConfig: { ...balancer.launchConfig, ports } }),
    ...(clusterOf(metadata) === undefined && {
      metadata: metadataOf(mark.cluster, desired.owner.uid, metadata),
    }),
  };
  const send = { kind: "change", link: self, body } as const;
  const before = balancer.lbConfig ?? {};
  const retargeted = retarget(before, desired, config);
  const isAll = isScaled && isPublished && sameConfig(config, { lbConfig: retargeted });
  const targets = isAll ? "all" : ({ ...send, body: { lbConfig: retargeted } } as const);
  const change = { do: "change load balancer", on: name, send } as const;
  return [sameRules(retargeted, before) ? change : { ...change, targets }, ...obsolete];
}

/** The server derives the links from the rules. Without a link, another client could take an external service for unused. */
function planLinks({ balancer }: Observed, wanted: ReadonlySet<string>): readonly RancherStep[] {
  const { name, linkedServices, transitioning, actions = {} } = balancer;
  const link = actions["setservicelinks"];
  if (!linkedServices || link === undefined || transitioning === "yes") return [];
  const linked = new Set(Object.values(linkedServices));
  if ([...wanted].every((id) => linked.has(id))) return [];
  const body = { serviceLinks: [...wanted].map((serviceId) => ({ serviceId })) };
  return [{ do: "set service links", on: name, send: { kind: "act", link, body }, targets: "all" }];
}

/** The part of a step that changes only targets. */
export function targetsOnly(step: RancherStep): RancherStep | undefined {
  const { targets, ...rest } = step;
  if (targets === undefined || targets === "all") return targets && step;
  return { ...rest, send: targets, targets: "all" };
}

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

/** Those with the mark, and those that the Go manager made for its own load balancer: one for each Node, with one address. */
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

/** First the external services of its rules, so that the load balancer is still listed as the other cluster's after an interruption. */
export function moveMark({ balancer, services, cluster }: Observed, mark: Mark): readonly RancherStep[] {
  const ruled = new Set(balancer.lbConfig?.portRules?.map(({ serviceId }) => serviceId));
  const external = [...services.values()].map(({ service }) => service).filter(({ id }) => ruled.has(id));
  return [...external, balancer].flatMap(({ name, metadata, links = {} }): readonly RancherStep[] => {
    const [{ self: link }, owner] = [links, markedOwner(metadata)];
    if (link === undefined || owner === undefined || clusterOf(metadata) !== cluster) return [];
    const body = { metadata: metadataOf(mark.cluster, owner, metadata) };
    return [{ do: "move mark", on: name, send: { kind: "change", link, body } }];
  });
}

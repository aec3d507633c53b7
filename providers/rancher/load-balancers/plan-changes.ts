// Plans the changes of an existing load balancer itself: its configuration, its ports and its links. Pure.

import type { LbConfig } from "../api/resources.ts";
import { addressFor } from "./address.ts";
import type { Desired, Mark, Observed, RancherStep } from "./model.ts";
import { clusterOf, metadataOf } from "./names.ts";
import { portsOf, publishedPorts } from "./ports.ts";
import { removalsAfterChange } from "./removals.ts";
import { retarget, sameConfig, sameRules } from "./rules.ts";

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

// Plans the end of a load balancer: its deletion, or its release without the mark. Pure.

import type { Plan } from "#ccm";
import { waitForBalancer } from "./activation.ts";
import type { Desired, Mark, Observed, RancherStep } from "./model.ts";
import { ownersByName, releasedName, withoutMark } from "./names.ts";
import { removalsAtEnd } from "./removals.ts";

export function planEnd(desired: Desired | undefined, observed: Observed, mark: Mark): Plan<RancherStep> {
  return desired?.ending === "release" ? planRelease(observed) : planDeletion(observed, mark);
}

/**
 * First it stops to use the external services, then the last user removes them. It goes last: after an interruption it still leads to
 * what is left.
 */
function planDeletion(observed: Observed, mark: Mark, why = ""): Plan<RancherStep> {
  const { name, links = {}, actions = {}, lbConfig } = observed.balancer;
  const { first, last } = removalsAtEnd(observed, mark);
  const { self } = links;
  if (self === undefined || actions["remove"] === undefined)
    return waitForBalancer(observed, "to accept its removal");
  const again = why === "" ? {} : ({ removes: true } as const);
  const remove = {
    ...{ do: `remove load balancer${why}`, on: name, send: { kind: "remove", link: self } as const },
    ...again,
  };
  const hasRules = (lbConfig?.portRules ?? []).length > 0;
  if (!hasRules || actions["update"] === undefined) return { steps: [...first, ...last, remove] };
  const send = { kind: "change", link: self, body: { lbConfig: { ...lbConfig, portRules: [] } } } as const;
  return { steps: [...first, { do: "remove rules", on: name, send }, ...last, remove] };
}

/** Where the server cannot change it in place. The next plan creates it, also the external services that nothing else uses. */
export const planRecreation = (observed: Observed, what: string, mark: Mark): Plan<RancherStep> =>
  planDeletion(observed, mark, ` to change ${what}`);

/** It keeps its rules and their external services. The name of the Go manager is a mark too, so it is replaced. */
function planRelease(observed: Observed): Plan<RancherStep> {
  const { id, name, links = {}, actions = {}, metadata } = observed.balancer;
  const { self } = links;
  if (self === undefined || actions["update"] === undefined)
    return waitForBalancer(observed, "to accept its release");
  const body = {
    ...(ownersByName(name).length > 0 && { name: releasedName(id) }),
    metadata: withoutMark(metadata),
  };
  return { steps: [{ do: "release load balancer", on: name, send: { kind: "change", link: self, body } }] };
}

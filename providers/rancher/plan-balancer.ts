// Plans the steps from the observed to the desired load balancer: creation, changes, activation and deletion. Pure.

import { applicable, hasErrors, type Plan, planError, type ServiceUID, warningProblem } from "#ccm";
import {
  balancerName,
  clusterOf,
  type Desired,
  markedOwner,
  metadataOf,
  type Observed,
  ownersByName,
  type Prefetched,
  type RancherStep,
  waitForBalancer,
  withoutMark,
} from "./balancer.ts";
import { addressFor, addressProblems, launchConfigOf, planUpgrade, reasonToRecreate } from "./launch.ts";
import {
  type Certificates,
  chooseCertificates,
  lbConfigOf,
  portProblems,
  publishedPorts,
  retarget,
  sameConfig,
  sameRules,
} from "./lb-config.ts";
import { planBackends, removalsAfterChange, removalsAtEnd, targetsAfter } from "./plan-backends.ts";
import { type LbConfig, linkFor, ruledIDs } from "./resources.ts";
import { reasons } from "./settings.ts";

export function planLoadBalancer(
  desired: Desired | undefined,
  observed: Observed | undefined,
  prefetched: Prefetched,
  { stack, cluster }: { readonly stack: string; readonly cluster: string },
): Plan<RancherStep> {
  if (desired === undefined || desired.ending !== undefined) {
    if (observed === undefined) return { steps: [] };
    return desired?.ending === "release" ? planRelease(observed) : planDeletion(observed, cluster);
  }
  const certificates = chooseCertificates(desired, prefetched.certificates);
  const problems = [
    ...certificates.problems,
    ...portProblems(desired),
    ...addressProblems(desired, observed, prefetched.hosts),
  ];
  if (hasErrors(problems)) return { steps: [], problems };
  if (observed === undefined) {
    const image = desired.settings["lb-image"] ?? prefetched.image;
    return image === undefined
      ? planError("MissingCloudObject", noImage)
      : { steps: [planCreation(desired, image, prefetched, { stack, cluster })], problems };
  }
  if (observed.ownership === "unmarked") return planAdoption(desired.owner.uid, observed);
  const what = reasonToRecreate(desired, observed);
  const isAdopted = desired.settings["lb-adopt"] !== undefined;
  // The next plan creates the load balancer again, with the external services that were removed with it.
  if (what !== undefined && !isAdopted)
    return { ...planDeletion(observed, cluster, ` to change ${what}`), problems };
  const stays = `A change of ${what} needs a new load balancer, but the Service has adopted ${observed.balancer.name}, so ${what} is not changed. Change it in Rancher, or remove service.rancher.io/lb-adopt: then Fairlead deletes it and creates a new one.`;
  const kept = applicable(...problems, what !== undefined && warningProblem("UnsupportedByCloud", stays));
  const plan = planExisting(desired, observed, certificates, cluster);
  return plan.refused === undefined ? { ...plan, problems: [...kept, ...(plan.problems ?? [])] } : plan;
}

/** Returns all steps that are possible. If there are none, returns the first part that waits. */
function planExisting(
  desired: Desired,
  observed: Observed,
  certificates: Certificates,
  cluster: string,
): Plan<RancherStep> {
  const { ids, refused, ...backends } = planBackends(desired, observed, cluster);
  if (refused.length > 0) return { steps: [], refused };
  const config = lbConfigOf(desired, ids, certificates);
  // Rules for an external service that this plan creates follow in the next plan, which knows its id.
  const isFirst = ids.length === 0 && backends.steps.length > 0;
  const changes = isFirst ? { steps: [] } : planChanges(desired, observed, config, cluster);
  const now = { steps: [...backends.steps, ...changes.steps] };
  const activation = planActivation(observed);
  const parts: readonly Plan<RancherStep>[] = [
    now,
    planUpgrade(desired, observed),
    changes,
    activation,
    backends,
  ];
  return parts.find(({ steps, wait }) => steps.length > 0 || wait !== undefined) ?? activation;
}

/** Adds only the mark first, so that no other Service adopts the load balancer during the other changes. */
function planAdoption(owner: ServiceUID, observed: Observed): Plan<RancherStep> {
  const link = linkFor(observed.balancer, "update");
  if (link === undefined) return waitForBalancer(observed, "to accept its adoption");
  return { steps: [{ do: "adopt load balancer", on: observed.balancer.name, kind: "adopt", link, owner }] };
}

const noImage =
  "The Rancher setting lb.instance.image is empty, so no load balancer is created. Set it, or load-balancers-image.";

function planCreation(
  desired: Desired,
  image: string,
  { stackID, hosts }: Prefetched,
  { stack, cluster }: { readonly stack: string; readonly cluster: string },
): RancherStep {
  const scale = desired.settings["lb-scale"] ?? 1;
  const name = balancerName(desired.defaultName);
  const body = {
    name,
    stackId: stackID,
    scale: scale === "global" ? undefined : scale,
    launchConfig: launchConfigOf(desired, image, hosts),
    lbConfig: {},
    metadata: metadataOf(cluster, desired.owner.uid),
  };
  const kind = "create load balancer";
  // If the stack was removed, the next plan looks for it again.
  const created = { do: kind, on: name, kind, body, changesPrefetched: true } as const;
  return stackID === undefined ? { ...created, stack } : created;
}

/** In these states, the server accepts changes. */
const upgrades: ReadonlySet<string> = new Set(["upgrading", "finishing-upgrade"]);

/** Sends all changes in one request. Unchanged fields are omitted, so that the server starts no update for them. */
function planChanges(
  desired: Desired,
  observed: Observed,
  config: LbConfig,
  cluster: string,
): Plan<RancherStep> {
  const { balancer } = observed;
  const { name, state, scale: observedScale, metadata, launchConfig } = balancer;
  const before = balancer.lbConfig ?? {};
  const scale = desired.settings["lb-scale"];
  const isScaled = typeof scale !== "number" || scale === (observedScale ?? 1);
  const wanted = ruledIDs(config);
  const obsolete = removalsAfterChange(observed, cluster, wanted);
  const isSame = sameConfig(config, before);
  const isMarked = clusterOf(metadata) !== undefined;
  // The rules do not publish the ports.
  const ports = publishedPorts(desired, addressFor(desired, observed));
  const isPublished = (launchConfig?.ports ?? []).toSorted().join() === ports.join();
  if (isSame && isScaled && isPublished) return { steps: [...planLinks(observed, wanted), ...obsolete] };
  const link = linkFor(balancer, "update");
  // During an upgrade the server stores new ports, but the containers keep the old ones.
  if (link === undefined || (!isPublished && upgrades.has(state)))
    return waitForBalancer(observed, `to accept changes, it is ${state}`);
  const body = {
    lbConfig: isSame ? undefined : config,
    scale: isScaled ? undefined : scale,
    launchConfig: isPublished ? undefined : { ...launchConfig, ports },
    metadata: isMarked ? undefined : metadataOf(cluster, desired.owner.uid, metadata),
  };
  const targets = targetsAfter(desired, observed, wanted);
  const change = { do: "change load balancer", on: name, kind: "change", link, body, targets } as const;
  const retargeted = retarget(before, desired, [...wanted]);
  const isAll = isScaled && isPublished && sameConfig(config, retargeted);
  const part = { ...change, body: { lbConfig: retargeted }, targetsPart: "all" } as const;
  const split = { ...change, targetsPart: isAll ? "all" : part } as const;
  return { steps: [sameRules(retargeted, before) ? change : split, ...obsolete] };
}

/** The server derives the links from the rules. Without a link, another client could consider an external service unused. */
function planLinks({ balancer }: Observed, wanted: ReadonlySet<string>): readonly RancherStep[] {
  const { name, linkedServices, transitioning } = balancer;
  const link = linkFor(balancer, "setservicelinks");
  if (!linkedServices || link === undefined || transitioning === "yes") return [];
  if (wanted.isSubsetOf(new Set(Object.values(linkedServices)))) return [];
  const body = { serviceLinks: [...wanted].map((serviceId) => ({ serviceId })) };
  return [{ do: "set service links", on: name, kind: "act", link, body, targetsPart: "all" }];
}

/** After an upgrade, an operator decides when to finish it. */
const activeStates = new Set(["active", "updating-active", "upgraded"]);

function planActivation(observed: Observed): Plan<RancherStep> {
  const { balancer } = observed;
  const { name, state, transitioning, transitioningMessage, healthState, publicEndpoints } = balancer;
  const text = `Rancher reports an error of load balancer ${name}: ${transitioningMessage ?? "no message"}. Correct it in Rancher or in the Service; Fairlead checks again until it is solved.`;
  const isRetry = transitioning === "error";
  const problems = applicable(isRetry && warningProblem(reasons.LoadBalancerFailed, text));
  const wait = (what: string) => ({ ...waitForBalancer(observed, what), problems });
  if (!activeStates.has(state)) {
    const link = transitioning === "yes" ? undefined : linkFor(balancer, "activate");
    if (link === undefined) return wait(`to become active, it is ${state}`);
    return { steps: [{ do: "activate load balancer", on: name, kind: "act", link, isRetry }], problems };
  }
  if ((publicEndpoints ?? []).length === 0) return wait("to get public endpoints");
  if (healthState === "initializing") return wait("to become healthy");
  return { steps: [], problems };
}

/**
 * Removes the rules first, then unused external services, and the load balancer last, so that an interrupted deletion can be
 * resumed. `why`: set when the Service still needs a load balancer.
 */
function planDeletion(observed: Observed, cluster: string, why = ""): Plan<RancherStep> {
  const { balancer } = observed;
  const { name, lbConfig } = balancer;
  const { first, last } = removalsAtEnd(observed, cluster);
  const [link, changed] = [linkFor(balancer, "remove"), linkFor(balancer, "update")];
  if (link === undefined) return waitForBalancer(observed, "to accept its removal");
  const gone = { do: `remove load balancer${why}`, on: name, kind: "remove", link } as const;
  const remove = why === "" ? gone : ({ ...gone, removes: true } as const);
  const hasRules = (lbConfig?.portRules ?? []).length > 0;
  if (!hasRules || changed === undefined) return { steps: [...first, ...last, remove] };
  const body = { lbConfig: { ...lbConfig, portRules: [] } };
  const unused = { do: "remove rules", on: name, kind: "change", link: changed, body } as const;
  return { steps: [...first, unused, ...last, remove] };
}

/**
 * The released load balancer keeps its rules and their external services. A name in the Go
 * manager's format is a mark, so it is replaced.
 */
function planRelease(observed: Observed): Plan<RancherStep> {
  const { id, name, metadata } = observed.balancer;
  const link = linkFor(observed.balancer, "update");
  if (link === undefined) return waitForBalancer(observed, "to accept its release");
  const body = {
    name: ownersByName(name).length > 0 ? `released-${id}` : undefined,
    metadata: withoutMark(metadata),
  };
  return { steps: [{ do: "release load balancer", on: name, kind: "change", link, body }] };
}

/**
 * The external services of the rules are marked first, so that the load balancer is still listed as that of the other cluster
 * after an interruption.
 */
export function moveMark(
  { balancer, services, cluster: other }: Observed,
  cluster: string,
): readonly RancherStep[] {
  const ruled = ruledIDs(balancer.lbConfig);
  const external = [...services.values()].map(({ service }) => service).filter(({ id }) => ruled.has(id));
  return [...external, balancer].flatMap(({ name, metadata, links = {} }): readonly RancherStep[] => {
    const [{ self: link }, owner] = [links, markedOwner(metadata)];
    if (link === undefined || owner === undefined || clusterOf(metadata) !== other) return [];
    const body = { metadata: metadataOf(cluster, owner, metadata) };
    return [{ do: "move mark", on: name, kind: "change", link, body }];
  });
}

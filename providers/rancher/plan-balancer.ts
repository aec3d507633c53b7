// Plans the steps from the observed to the desired load balancer: its creation, its changes, its activation and its end. Pure.

import { applicable, hasErrors, type Plan, type Problem, planError, waitFor, warningProblem } from "#ccm";
import {
  balancerName,
  type Desired,
  type Mark,
  metadataOf,
  type Observed,
  ownersByName,
  type Prefetched,
  type RancherStep,
  releasedName,
  withoutMark,
} from "./balancer.ts";
import { addressProblems, launchConfigOf, planUpgrade, reasonToRecreate } from "./launch.ts";
import { chooseCertificates, lbConfigOf } from "./lb-config.ts";
import { planBackends } from "./plan-backends.ts";
import { planChanges, removalsAtEnd } from "./plan-changes.ts";
import { portProblems } from "./ports.ts";
import { reasons } from "./settings.ts";

export interface PlanSettings {
  readonly stack: string;
  readonly mark: Mark;
}

export function planLoadBalancer(
  desired: Desired | undefined,
  observed: Observed | undefined,
  prefetched: Prefetched,
  settings: PlanSettings,
): Plan<RancherStep> {
  if (desired === undefined || desired.ending !== undefined)
    return observed === undefined ? { steps: [] } : planEnd(desired, observed, settings.mark);
  const certificates = chooseCertificates(desired, prefetched.certificates);
  const problems = [
    ...certificates.problems,
    ...portProblems(desired),
    ...addressProblems(desired, observed, prefetched.hosts),
  ];
  if (hasErrors(problems)) return { steps: [], problems };
  if (observed === undefined) return planCreation(desired, prefetched, settings, problems);
  if (observed.ownership === "unmarked") return planAdoption(desired, observed, settings.mark);
  const what = reasonToRecreate(desired, observed);
  if (what !== undefined && desired.settings["lb-adopt"] === undefined)
    return { ...planRecreation(observed, what, settings.mark), problems };
  const kept = what === undefined ? problems : [...problems, adoptedStays(observed, what)];
  return planExisting({ desired, observed, mark: settings.mark }, certificates, kept);
}

type Certificates = ReturnType<typeof chooseCertificates>;

function planExisting(
  context: { readonly desired: Desired; readonly observed: Observed; readonly mark: Mark },
  certificates: Certificates,
  problems: readonly Problem[],
): Plan<RancherStep> {
  const { desired, observed, mark } = context;
  const backends = planBackends(context);
  if (backends.refused.length > 0) return { steps: [], refused: backends.refused };
  const config = lbConfigOf(desired, backends.ids, certificates);
  // Rules of an external service that is created now follow in the next plan, which knows its id.
  const isFirst = backends.ids.length === 0 && backends.steps.length > 0;
  const changes = isFirst ? [] : planChanges(desired, observed, config, mark);
  const steps = [...backends.steps, ...(changes === "not now" ? [] : changes)];
  if (steps.length > 0) return { steps, problems };
  const upgrade = planUpgrade(desired, observed);
  const { state } = observed.balancer;
  if (upgrade === "not now") {
    const what = `to accept another image, it is ${state}: finish or roll back its upgrade in Rancher`;
    return { ...waitForBalancer(observed, what), problems };
  }
  if (upgrade.length > 0) return { steps: upgrade, problems };
  if (changes === "not now")
    return { ...waitForBalancer(observed, `to accept changes, it is ${state}`), problems };
  const activation = planActivation(observed);
  if (activation.steps.length > 0 || activation.wait !== undefined || backends.waitingFor === undefined)
    return { ...activation, problems: [...problems, ...(activation.problems ?? [])] };
  return { ...waitFor(backends.waitingFor), problems };
}

/** First only the mark, so that no other Service adopts it while the rest changes. */
function planAdoption({ owner }: Desired, observed: Observed, mark: Mark): Plan<RancherStep> {
  const { name, links = {}, actions = {} } = observed.balancer;
  const { self: link } = links;
  if (link === undefined || actions["update"] === undefined)
    return waitForBalancer(observed, "to accept its adoption");
  const send = { kind: "adopt", link, cluster: mark.cluster, owner: owner.uid } as const;
  return { steps: [{ do: "adopt load balancer", on: name, send }] };
}

function adoptedStays({ balancer }: Observed, what: string): Problem {
  const text = `A change of ${what} needs a new load balancer, but the Service has adopted ${balancer.name}. So ${what} stays. Change it in Rancher, or remove service.rancher.io/lb-adopt: then Fairlead deletes it and creates a new one.`;
  return warningProblem("UnsupportedByCloud", text);
}

export function planCreation(
  desired: Desired,
  { stackID, image, hosts }: Prefetched,
  { stack, mark }: { readonly stack: string; readonly mark: Mark },
  problems: readonly Problem[],
): Plan<RancherStep> {
  const chosen = desired.settings["lb-image"] ?? image;
  if (chosen === undefined) {
    const text =
      "The Rancher setting lb.instance.image is empty, so no load balancer is created. Set it, or load-balancers-image.";
    return planError("MissingCloudObject", text);
  }
  const scale = desired.settings["lb-scale"] ?? 1;
  const name = balancerName(desired.defaultName);
  const body = {
    name,
    ...(stackID !== undefined && { stackId: stackID }),
    ...(scale !== "global" && { scale }),
    launchConfig: launchConfigOf(desired, chosen, hosts),
    lbConfig: {},
    metadata: metadataOf(mark.cluster, desired.owner.uid),
  };
  const send = {
    kind: "create",
    type: "loadBalancerService",
    body,
    ...(stackID === undefined && { stack }),
  } as const;
  // If the stack was removed, the next plan looks for it again.
  return { steps: [{ do: "create load balancer", on: name, send, changesPrefetched: true }], problems };
}

export function waitForBalancer({ balancer }: Observed, what: string) {
  const { name, transitioningMessage } = balancer;
  return waitFor(`load balancer ${name} ${what}${transitioningMessage ? ` (${transitioningMessage})` : ""}`);
}

/** After an upgrade, an operator decides when to finish it. */
const activeStates = new Set(["active", "updating-active", "upgraded"]);

export function planActivation(observed: Observed): Plan<RancherStep> {
  const {
    name,
    state,
    transitioning,
    transitioningMessage,
    actions = {},
    healthState,
    publicEndpoints,
  } = observed.balancer;
  const text = `Rancher reports an error of load balancer ${name}: ${transitioningMessage ?? "no message"}. Correct it in Rancher or in the Service; Fairlead checks again until it is solved.`;
  const isRetry = transitioning === "error";
  const problems = applicable(isRetry && warningProblem(reasons.LoadBalancerFailed, text));
  if (!activeStates.has(state)) {
    const link = transitioning === "yes" ? undefined : actions["activate"];
    if (link === undefined)
      return { ...waitForBalancer(observed, `to become active, it is ${state}`), problems };
    return {
      steps: [{ do: "activate load balancer", on: name, send: { kind: "act", link, isRetry } }],
      problems,
    };
  }
  if ((publicEndpoints ?? []).length === 0)
    return { ...waitForBalancer(observed, "to get public endpoints"), problems };
  if (healthState === "initializing") return { ...waitForBalancer(observed, "to become healthy"), problems };
  return { steps: [], problems };
}

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

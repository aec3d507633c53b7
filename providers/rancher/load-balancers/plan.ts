// Plans the steps from the observed to the desired load balancer. Pure.

import { type Plan, type Problem, waitFor } from "#ccm";
import type { LbConfig } from "../api/resources.ts";
import { planActivation, waitForBalancer } from "./activation.ts";
import type { Desired, Mark, Observed, Prefetched, RancherStep } from "./model.ts";
import { balancerName, clusterOf, metadataOf } from "./names.ts";
import { planBackends } from "./plan-backends.ts";
import { removalsAfterChange, removalsAtEnd } from "./removals.ts";
import {
  chooseCertificates,
  lbConfigOf,
  portProblems,
  portsOf,
  publishedPorts,
  retarget,
  sameConfig,
  sameRules,
} from "./rules.ts";

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
    return observed === undefined ? { steps: [] } : planEnd(observed, settings.mark);
  const certificates = chooseCertificates(desired, prefetched.certificates);
  const problems = [...certificates.problems, ...portProblems(desired)];
  if (problems.some(({ severity }) => severity === "error")) return { steps: [], problems };
  if (observed === undefined) return { ...planCreation(desired, prefetched, settings, problems) };
  const backends = planBackends({ desired, observed, mark: settings.mark });
  if (backends.refused.length > 0) return { steps: [], refused: backends.refused };
  const config = lbConfigOf(desired, backends.ids, certificates);
  // Rules of an external service that is created now follow in the next plan, which knows its id.
  const isFirst = backends.ids.length === 0 && backends.steps.length > 0;
  const changes = isFirst ? [] : planChanges(desired, observed, config, settings.mark);
  const steps = [...backends.steps, ...(changes === "not now" ? [] : changes)];
  if (steps.length > 0) return { steps, problems };
  if (changes === "not now") return { ...waitForBalancer(observed, "to accept changes"), problems };
  const activation = planActivation(observed);
  if (activation.steps.length > 0 || activation.wait !== undefined || backends.waitingFor === undefined)
    return { ...activation, problems: [...problems, ...(activation.problems ?? [])] };
  return { ...waitFor(backends.waitingFor), problems };
}

/**
 * First it stops to use the external services, then the last user removes them. It goes last: after an interruption it still leads to
 * what is left.
 */
function planEnd(observed: Observed, mark: Mark): Plan<RancherStep> {
  const { name, links = {}, actions = {}, lbConfig } = observed.balancer;
  const obsolete = removalsAtEnd(observed, mark);
  const { self } = links;
  if (self === undefined || actions["remove"] === undefined)
    return waitForBalancer(observed, "to accept its removal");
  const remove = { do: "remove load balancer", on: name, send: { kind: "remove", link: self } } as const;
  const hasRules = (lbConfig?.portRules ?? []).length > 0;
  if (!hasRules || actions["update"] === undefined) return { steps: [...obsolete, remove] };
  const send = { kind: "change", link: self, body: { lbConfig: { ...lbConfig, portRules: [] } } } as const;
  return { steps: [{ do: "remove rules", on: name, send }, ...obsolete, remove] };
}

const isGlobal = ({ launchConfig }: Observed["balancer"]): boolean =>
  launchConfig?.labels?.["io.rancher.scheduler.global"] === "true";

function planCreation(
  desired: Desired,
  { stackID, image }: Prefetched,
  { stack, mark }: PlanSettings,
  problems: readonly Problem[],
): Plan<RancherStep> {
  const own = desired.settings;
  const imageName = own["lb-image"] ?? image;
  if (imageName === undefined) {
    const text =
      "The Rancher setting lb.instance.image is empty, so no load balancer is created. Set it, or load-balancers-image.";
    return { steps: [], problems: [{ severity: "error", reason: "MissingCloudObject", text }] };
  }
  const scale = own["lb-scale"] ?? 1;
  const selector = own["lb-host-selector"];
  const labels = {
    ...(scale === "global" && { "io.rancher.scheduler.global": "true" }),
    ...(selector !== undefined && { "io.rancher.scheduler.affinity:host_label": selector }),
  };
  const name = balancerName(desired.defaultName);
  const body = {
    name,
    ...(stackID !== undefined && { stackId: stackID }),
    ...(scale !== "global" && { scale }),
    launchConfig: {
      imageUuid: imageName.startsWith("docker:") ? imageName : `docker:${imageName}`,
      ports: publishedPorts(portsOf(desired)),
      labels,
    },
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

/** In one request. Fields that are the same are not sent, so that the server starts no update for them. */
function planChanges(
  desired: Desired,
  observed: Observed,
  config: LbConfig,
  mark: Mark,
): readonly RancherStep[] | "not now" {
  const { balancer } = observed;
  const { name, links = {}, actions = {}, metadata } = balancer;
  const scale = desired.settings["lb-scale"];
  if (scale !== undefined && (scale === "global") !== isGlobal(balancer))
    return recreate(observed, "remove load balancer to change its scale");
  const isScaled = scale === undefined || scale === "global" || scale === (balancer.scale ?? 1);
  const wanted = new Set(config.portRules?.flatMap(({ serviceId }) => serviceId ?? []));
  const obsolete = removalsAfterChange(observed, mark, wanted);
  const isSame = sameConfig(config, balancer);
  const ports = publishedPorts(portsOf(desired));
  const isPublished = (balancer.launchConfig?.ports ?? []).toSorted().join() === ports.join();
  if (isSame && isScaled && isPublished) return obsolete;
  const { self } = links;
  if (self === undefined || actions["update"] === undefined) return "not now";
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

/** Where the server cannot change it in place. The next plan creates it. */
function recreate({ balancer }: Observed, title: string): readonly RancherStep[] | "not now" {
  const { self } = balancer.links ?? {};
  if (self === undefined || balancer.actions?.["remove"] === undefined) return "not now";
  const send = { kind: "remove", link: self } as const;
  return [{ do: title, on: balancer.name, send }];
}

/** The part of a step that changes only targets. */
export function targetsOnly(step: RancherStep): RancherStep | undefined {
  const { targets, ...rest } = step;
  if (targets === undefined || targets === "all") return targets && step;
  return { ...rest, send: targets, targets: "all" };
}

// Plans the steps from the observed to the desired load balancer. Pure.

import { type Plan, type Problem, seconds, waitFor } from "#ccm";
import {
  annotation,
  type Body,
  type Desired,
  type DigitalOceanStep,
  isDisowned,
  isNetwork,
  networkOf,
  type Observed,
  type Prefetched,
  tagOf,
  typeOf,
  type UpdateStep,
} from "./balancer.ts";
import { type CertificateChoice, certificateOf, chooseCertificate } from "./certificates.ts";
import type { ApiLoadBalancer, BalancerSpec } from "./resources.ts";
import { reasons, type Settings } from "./settings.ts";
import { hasSpec, hasTargets, placeOf, presentSpec, specOf } from "./spec.ts";

export const activation = "the load balancer to be active";
/** A load balancer takes about a minute. */
export const checkAfter = seconds(10);

const nothing: Plan<DigitalOceanStep> = { steps: [] };
const failed = (
  reason: Problem["reason"],
  text: string,
  others: readonly Problem[] = [],
): Plan<DigitalOceanStep> => ({
  steps: [],
  problems: [...others, { severity: "error", reason, text }],
});

export function planLoadBalancer(
  desired: Desired | undefined,
  observed: Observed | undefined,
  { certificates, regions }: Prefetched,
  operator: Settings,
): Plan<DigitalOceanStep> {
  const isKept = desired !== undefined && isDisowned(desired);
  if (desired === undefined || desired.ending !== undefined) {
    if (observed === undefined) return nothing;
    const { id, name } = observed.balancer;
    // The next listing shows that the Service has given it up.
    if (isKept) return waitFor("the load balancer to be given up");
    return { steps: [{ do: "delete load balancer", on: name, id }] };
  }
  if (isKept) return nothing;
  const isTerminating = !isNetwork({ type: typeOf(desired, operator) });
  const choice = isTerminating ? chooseCertificate(desired, certificates, observed?.balancer) : {};
  const { spec, problems } = specOf(desired, operator, choice.id);
  const all = [...problems, ...(choice.problem === undefined ? [] : [choice.problem])];
  if (spec === undefined || all.some(({ severity }) => severity === "error"))
    return { steps: [], problems: all };
  const plan =
    observed === undefined
      ? planCreation(desired, spec, regions, operator)
      : planChanges(desired, spec, choice, observed.balancer, operator);
  return { ...plan, problems: [...all, ...(plan.problems ?? [])] };
}

const handlesOf = ({ targets }: Desired) =>
  targets.flatMap(({ machine }) => (machine === undefined ? [] : [machine.handles]));

/** REGIONAL ones translate. The others need Nodes of the same family. */
function networkStackOf(desired: Desired, operator: Settings): string | Problem {
  const requested = desired.settings["network-stack"];
  const isInternal = networkOf(desired) === "INTERNAL";
  if (isInternal && requested === "DUALSTACK") {
    const text = `Internal load balancers have no IPv6, so none is created. Remove ${annotation("network-stack")}.`;
    return { severity: "error", reason: reasons.LoadBalancerConfigError, text };
  }
  if (isInternal) return "IPV4";
  if (!isNetwork({ type: typeOf(desired, operator) })) return requested ?? "DUALSTACK";
  const isDual = handlesOf(desired).every((handles) => handles?.["ipv6"] !== undefined);
  if (requested === "DUALSTACK" && !isDual) {
    const text = `Not all Nodes have a public IPv6 address, which ${annotation("network-stack")}: DUALSTACK needs with the type REGIONAL_NETWORK, so no load balancer is created. Add IPv6 to their droplets, or remove the annotation.`;
    return { severity: "error", reason: reasons.LoadBalancerConfigError, text };
  }
  return requested ?? (isDual ? "DUALSTACK" : "IPV4");
}

function planCreation(
  desired: Desired,
  spec: BalancerSpec,
  regions: Prefetched["regions"],
  operator: Settings,
): Plan<DigitalOceanStep> {
  if (operator.region !== undefined && regions?.includes(operator.region) === false) {
    const text = `REGION is ${JSON.stringify(operator.region)}, which DigitalOcean does not have, so no load balancer is created. Set it to one of ${regions.join(", ")}.`;
    return failed(reasons.RegionUnknown, text);
  }
  const handles = handlesOf(desired);
  if (handles.includes(undefined)) return waitFor("the droplets of the Nodes to be listed");
  if (handles.length === 0) return waitFor("a Node that can be a target");
  const ofNodes = [...new Set(handles.flatMap((one) => one?.["region"] ?? []))].toSorted();
  const [region = "", ...others] = operator.region === undefined ? ofNodes : [operator.region];
  if (others.length > 0) {
    const text = `The Nodes are in the regions ${ofNodes.join(", ")}, and a load balancer is in one, so none is created. Set REGION.`;
    return failed(reasons.RegionUnknown, text);
  }
  const stack = networkStackOf(desired, operator);
  if (typeof stack !== "string") return { steps: [], problems: [stack] };
  const { ip, "subnet-uuid": subnet_uuid } = desired.settings;
  const [tag, vpc_uuid, type] = [tagOf(operator), operator["vpc-id"], typeOf(desired, operator)];
  const body: Body & object = {
    ...spec,
    ...{ region, type, network: networkOf(desired), network_stack: stack },
    ...(vpc_uuid !== undefined && { vpc_uuid }),
    ...(subnet_uuid !== undefined && { subnet_uuid }),
    ...(ip !== undefined && { ip }),
    ...(tag !== undefined && { tags: [tag] }),
  };
  return { steps: [{ do: "create load balancer", on: body.name, owner: desired.owner.uid, body }] };
}

function planChanges(
  desired: Desired,
  spec: BalancerSpec,
  { renewedTo }: CertificateChoice,
  balancer: ApiLoadBalancer,
  operator: Settings,
): Plan<DigitalOceanStep> {
  const { id, name, status, type } = balancer;
  const { owner, facts } = desired;
  if (type === "GLOBAL") {
    const text = `The load balancer ${name} (${id}) is of type GLOBAL, which serves no Nodes, so it is not changed. Remove ${annotation("type")} and kubernetes.digitalocean.com/load-balancer-id to get another one.`;
    return failed("UnsupportedByCloud", text);
  }
  const tag = tagOf(operator);
  const own = { on: name, id, owner: owner.uid };
  const isKnown = facts["id"] === id && facts["type"] !== undefined;
  const isTagged = tag === undefined || (balancer.tags ?? []).includes(tag);
  const steps: readonly DigitalOceanStep[] = [
    ...(isKnown
      ? []
      : [{ ...own, do: "adopt load balancer", remember: { id, type: type ?? "REGIONAL" } } as const]),
    ...(isTagged ? [] : [{ ...own, do: "tag load balancer", tag } as const]),
    ...(renewedTo === undefined
      ? []
      : [{ ...own, do: "follow certificate", remember: { certificate: renewedTo } } as const]),
  ];
  if (status === "new") return { steps, wait: { checkAfter, waitingFor: activation } };
  if (status !== "active") {
    const text = `The load balancer ${name} (${id}) has the status ${JSON.stringify(status)} instead of "active", so it is not changed. Delete it in the cloud to get another one, or ask the support of DigitalOcean.`;
    return failed(reasons.LoadBalancerErrored, text);
  }
  return { steps: [...steps, ...updatesOf(spec, balancer)] };
}

/** First what forwards traffic, then the name, which may be taken. */
function updatesOf(
  spec: BalancerSpec,
  balancer: ApiLoadBalancer,
): readonly (UpdateStep & { readonly on: string })[] {
  const { id, name } = balancer;
  const [place, certificate] = [placeOf(balancer), certificateOf(balancer)];
  const own = { on: name, id, certificate };
  const { droplet_ids } = spec;
  const targets = { ...place, ...presentSpec(balancer), droplet_ids };
  const areTargetsSame = hasTargets(balancer, droplet_ids);
  const renames =
    spec.name === name ? [] : [{ ...own, do: "rename load balancer", body: { ...place, ...spec } } as const];
  if (!hasSpec(balancer, spec)) {
    const body = { ...place, ...spec, name };
    return [{ ...own, do: "update load balancer", body, ...(!areTargetsSame && { targets }) }, ...renames];
  }
  return areTargetsSame ? renames : [{ ...own, do: "change targets", body: targets, targets }, ...renames];
}

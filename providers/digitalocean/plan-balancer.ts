// Plans the steps from the observed to the desired load balancer. Pure.

import {
  changedTargets,
  errorProblem,
  type Facts,
  hasAll,
  hasErrors,
  heldDeletionText,
  nodesByMachine,
  type Plan,
  type ProviderProblem,
  planError,
  requestTo,
  seconds,
  type TargetChanges,
  waitFor,
} from "#ccm";
import { disown, keyOf } from "./annotations.ts";
import {
  type Desired,
  type DigitalOceanStep,
  isDisowned,
  type Observed,
  type Prefetched,
  typeOf,
} from "./balancer.ts";
import { certificateOf, chooseCertificate } from "./certificates.ts";
import type { ApiLoadBalancer } from "./resources.ts";
import { reasons, type Settings } from "./settings.ts";
import { type Spec, specOf } from "./spec.ts";
import { hasTag, taggingRequest, tagOf } from "./tags.ts";

export const activation = "the load balancer to be active";
/** The creation of a load balancer takes about a minute. */
export const checkAfter = seconds(10);

type BalancerPlan = Plan<DigitalOceanStep>;

function invalidDisown({ disown: text = "" }: Facts): string {
  const why = `${disown} must be true or false, got ${JSON.stringify(text.slice(0, 80))}`;
  return heldDeletionText(
    why,
    "Set it to true to keep the load balancer, or remove the annotation to delete the load balancer.",
  );
}

const reading = "GET /load_balancers/{id}";

export function planLoadBalancer(
  desired: Desired | undefined,
  observed: Observed | undefined,
  { certificates }: Prefetched,
  operator: Settings,
): BalancerPlan {
  const isKept = desired?.settings[disown];
  if (desired === undefined || desired.ending !== undefined) {
    if (observed === undefined) return { steps: [] };
    // The next listing shows that the Service has given the load balancer up.
    if (isKept) return waitFor("the load balancer to be given up");
    if (desired !== undefined && isDisowned(desired.facts) === undefined)
      return planError("InvalidAnnotation", invalidDisown(desired.facts));
    const { id, name } = observed.balancer;
    const own = { on: name, id };
    const deletion = { ...own, do: deletionTitle, request: requestTo("DELETE /load_balancers/{id}", { id }) };
    // Otherwise the Service would own the load balancer whose id it has, instead of this one.
    const naming = { ...own, do: "store the id", request: requestTo(reading, { id }), remember: { id } };
    return { steps: (desired?.facts["id"] ?? id) === id ? [deletion] : [naming, deletion] };
  }
  if (isKept) return { steps: [] };
  const isTerminating = typeOf(desired, operator) === "REGIONAL";
  const certificate = isTerminating ? chooseCertificate(desired, certificates, observed?.balancer) : {};
  const { spec, problems: found } = specOf(desired, operator, certificate.id);
  const problems = [...found, ...(certificate.problem === undefined ? [] : [certificate.problem])];
  if (hasErrors(problems)) return { steps: [], problems };
  const renewed = certificate.isRenewed === true ? certificate.id : undefined;
  const plan =
    observed === undefined
      ? planCreation(desired, spec, operator)
      : planChanges(desired, spec, renewed, observed.balancer, operator);
  return { ...plan, problems: [...problems, ...(plan.problems ?? [])] };
}

const handlesOf = ({ targets }: Desired) =>
  targets.flatMap(({ machine }) => (machine === undefined ? [] : [machine.handles]));

/** REGIONAL load balancers translate between families. The others need Nodes of the same family. */
function networkStackOf(desired: Desired, operator: Settings): string | ProviderProblem {
  const { "network-stack": requested, network } = desired.settings;
  const isDual = handlesOf(desired).every((handles) => handles?.["ipv6"] !== undefined);
  const canTranslate = typeOf(desired, operator) === "REGIONAL";
  const possible = network === "EXTERNAL" && (canTranslate || isDual) ? "DUALSTACK" : "IPV4";
  if (requested !== "DUALSTACK" || possible === "DUALSTACK") return requested ?? possible;
  const text = `${keyOf("network-stack")} is DUALSTACK, but with the type REGIONAL_NETWORK, all Nodes need a public IPv6 address, and some have none. No load balancer is created. Remove the annotation, or add IPv6 to the droplets.`;
  return errorProblem(reasons.LoadBalancerConfigError, text);
}

/** Only droplets show the region if REGION is not set, and whether all Nodes have IPv6, which the type REGIONAL does not need. */
export const needsHandles = (operator: Settings): false | undefined =>
  operator.region !== undefined && operator["default-lb-type"] === "REGIONAL" ? false : undefined;

function planCreation(desired: Desired, spec: Spec, operator: Settings): BalancerPlan {
  const handles = handlesOf(desired);
  const { network: reach, "network-stack": stack } = desired.settings;
  const isDecided = typeOf(desired, operator) === "REGIONAL" || reach === "INTERNAL" || stack === "IPV4";
  if (handles.includes(undefined) && needsHandles(operator) !== false)
    return waitFor("the droplets of the Nodes to be listed");
  if (handles.includes(undefined) && !isDecided)
    return waitFor(
      `the droplets of the Nodes to be listed, or for ${keyOf("network-stack")}: IPV4 where none are listed`,
    );
  if (handles.length === 0) return waitFor("a Node that can be a target");
  const ofNodes = [...new Set(handles.flatMap((one) => one?.["region"] ?? []))].toSorted();
  const [region = "", ...others] = operator.region === undefined ? ofNodes : [operator.region];
  if (others.length > 0) {
    const text = `The Nodes are in the regions ${ofNodes.join(", ")}, and a load balancer is in one, so none is created. Set REGION.`;
    return planError(reasons.RegionUnknown, text);
  }
  const network_stack = networkStackOf(desired, operator);
  if (typeof network_stack !== "string") return { steps: [], problems: [network_stack] };
  const { ip, network, "subnet-uuid": subnet_uuid } = desired.settings;
  const [tag, type] = [tagOf(operator), typeOf(desired, operator)];
  const place = { region, type, network, network_stack, vpc_uuid: operator["vpc-id"], subnet_uuid, ip };
  const body = { ...spec, ...place, tags: tag === undefined ? undefined : [tag] };
  const request = requestTo("POST /load_balancers", {}, body);
  const own = { nodes: nodesByMachine(desired.targets) };
  return { steps: [{ do: "create load balancer", on: spec.name, ...own, request }] };
}

function planChanges(
  desired: Desired,
  spec: Spec,
  renewed: string | undefined,
  balancer: ApiLoadBalancer,
  operator: Settings,
): BalancerPlan {
  const { id, name, status } = balancer;
  const { facts } = desired;
  const [tag, type] = [tagOf(operator), balancer.type ?? "REGIONAL"];
  const which = `The load balancer ${name} (${id})`;
  if (type === "GLOBAL") {
    const text = `${which} is of type GLOBAL, which serves no Nodes, so it is not changed. To get a new one, remove ${keyOf("type")} and kubernetes.digitalocean.com/load-balancer-id.`;
    return planError("UnsupportedByCloud", text);
  }
  const own = { on: name, id, nodes: nodesByMachine(desired.targets) };
  const read = requestTo(reading, { id });
  const steps: DigitalOceanStep[] = [];
  // The listing may be older than the deletion, so the load balancer is read again.
  if (facts["id"] !== id || facts["type"] === undefined)
    steps.push({ ...own, do: "adopt load balancer", request: read, remember: { id, type } });
  if (tag !== undefined && !hasTag(balancer.tags, tag))
    steps.push({ ...own, do: taggingTitle, request: taggingRequest(tag, "load_balancer", id) });
  if (renewed !== undefined)
    steps.push({ ...own, do: "follow certificate", request: read, remember: { certificate: renewed } });
  if (status === "new") return { steps, wait: { checkAfter, waitingFor: activation } };
  const text = `${which} has the status ${JSON.stringify(status)} instead of "active", so it is not changed. Delete it in the cloud to get a new one, or ask DigitalOcean support.`;
  if (status !== "active") return planError(reasons.LoadBalancerErrored, text);
  return { steps: [...steps, ...updatesOf(spec, balancer, own)] };
}

export const taggingTitle = "tag load balancer";

export const deletionTitle = "delete load balancer";

type Own = Required<Pick<DigitalOceanStep, "on" | "id" | "nodes">>;

/** Steps that change nothing but targets. */
function targetSteps(
  { id, droplet_ids }: ApiLoadBalancer,
  wanted: readonly number[],
  own: Own,
): readonly DigitalOceanStep[] {
  const [has, wants] = [new Set(droplet_ids), new Set(wanted)];
  const change = (
    title: string,
    method: "POST" | "DELETE",
    ids: readonly number[],
    targets: TargetChanges,
  ) => {
    const request = requestTo(`${method} /load_balancers/{id}/droplets`, { id }, { droplet_ids: ids });
    return ids.length === 0 ? [] : [{ ...own, do: title, request, targets, targetsPart: "all" as const }];
  };
  const added = wanted.filter((one) => !has.has(one));
  const removed = [...has].filter((one) => !wants.has(one));
  const adds = added.flatMap((one) => own.nodes[one] ?? []);
  return [
    ...change("add targets", "POST", added, { adds }),
    ...change("remove targets", "DELETE", removed, { removes: removed.map(String) }),
  ];
}

type Rules = Pick<ApiLoadBalancer, "forwarding_rules">;

/**
 * Any other change sends the whole specification; `apply` adds the fields that it keeps. The name
 * comes last, because it may be taken.
 */
function updatesOf(spec: Spec, balancer: ApiLoadBalancer, own: Own): readonly DigitalOceanStep[] {
  const { id, name, tag } = balancer;
  const { droplet_ids, ...rest } = spec;
  const update = (title: string, newName: string, before: Rules): DigitalOceanStep => {
    // These droplets replace the droplets with the tag.
    const targets = tag ? { droplet_ids } : {};
    const request = requestTo("PUT /load_balancers/{id}", { id }, { ...rest, name: newName, ...targets });
    const changes = tag ? changedTargets(own.nodes, balancer.droplet_ids ?? []) : undefined;
    return { ...own, do: title, request, certificate: certificateOf(before), targets: changes };
  };
  const isSame = !tag && hasAll({ ...balancer, name: spec.name }, rest);
  return [
    ...(isSame ? [] : [update("update load balancer", name, balancer)]),
    ...(tag ? [] : targetSteps(balancer, droplet_ids, own)),
    ...(spec.name === name ? [] : [update("rename load balancer", spec.name, spec)]),
  ];
}

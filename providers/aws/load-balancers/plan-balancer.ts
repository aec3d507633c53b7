// Plans the steps for one Service: rejected settings, the deletion of a load balancer, and the changes of an existing one. Pure.

import {
  applicable,
  errorProblem,
  hasErrors,
  type Plan,
  type ProviderProblem,
  seconds,
  waitFor,
  warningProblem,
} from "#ccm";
import type { ApiSecurityGroup } from "../api/resources.ts";
import { isOwned } from "../cluster.ts";
import { keyOf, preserveClientIP } from "./annotations.ts";
import {
  type Desired,
  isNetwork,
  isOthers,
  type Observed,
  type PlanInput,
  rangesOf,
  servedPorts,
} from "./balancer.ts";
import { classicGroupName, managedDescription, networkGroupName } from "./balancer-names.ts";
import { closeSteps, deleteGroup, restOnUses } from "./group-steps.ts";
import { splitPorts } from "./network.ts";
import { classicGroupChanges, networkGroupChanges } from "./node-rules.ts";
import { planClassic } from "./plan-classic.ts";
import { deleteTargetGroup, isDeletable, planNetwork } from "./plan-network.ts";
import { type AwsStep, elb, elbv2, withParts } from "./steps.ts";

type Specified = Pick<Desired, "settings" | "ports">;
type Name = Parameters<typeof keyOf>[0];
const stays = "Nothing of the load balancer is changed.";
const invalid = (name: Name, text: string): ProviderProblem =>
  errorProblem("InvalidAnnotation", `${keyOf(name)} ${text}`, keyOf(name));
const unsupported = (text: string): ProviderProblem => errorProblem("UnsupportedByCloud", text);

function classicContradictions({ settings, ports }: Specified): readonly ProviderProblem[] {
  const udp = ports.filter(({ protocol }) => protocol === "UDP").map(({ port }) => port);
  const { "healthcheck-interval": interval = 10, "healthcheck-timeout": timeout = 5 } = settings;
  const isUDP = `Port ${udp.join(", ")} is UDP, and classic load balancers forward TCP only. ${stays} Set ${keyOf("type")} to nlb in a new Service.`;
  const isLong = `must be less than the interval of ${interval} seconds, got ${timeout}. ${stays} Correct one of them.`;
  const attributes = `is for network load balancers. ${stays} Remove it.`;
  return applicable(
    udp.length > 0 && unsupported(isUDP),
    settings["target-group-attributes"] !== undefined && invalid("target-group-attributes", attributes),
    timeout >= interval && invalid("healthcheck-timeout", isLong),
  );
}

function networkContradictions({ settings, ports }: Specified): readonly ProviderProblem[] {
  const isUDP = ports.some(({ protocol }) => protocol === "UDP");
  const isHidden = settings["target-group-attributes"]?.get(preserveClientIP) === "false";
  const split = splitPorts({ ports });
  const isSplit = `Port ${split.join(", ")} has TCP and UDP with different node ports, and AWS forwards both to one. ${stays} Set the same nodePort for both.`;
  const groups = `is for classic load balancers. ${stays} Remove it, or use ${keyOf("security-groups")}.`;
  const ssl = `must be tcp, http or https for a network load balancer, got ssl. ${stays} Correct it.`;
  const hides = `sets ${preserveClientIP}=false, which AWS refuses for UDP. ${stays} Remove it.`;
  return applicable(
    settings["extra-security-groups"] !== undefined && invalid("extra-security-groups", groups),
    settings["healthcheck-protocol"] === "ssl" && invalid("healthcheck-protocol", ssl),
    isUDP && isHidden && invalid("target-group-attributes", hides),
    split.length > 0 && unsupported(isSplit),
  );
}

/** Contradictions within a Service, which `lint` reports. */
export function contradictions(service: Specified): readonly ProviderProblem[] {
  const { settings, ports } = service;
  const known = new Set(ports.flatMap(({ port, name = "" }) => [String(port), name]));
  const unknown = (settings["ssl-ports"] ?? []).filter((one) => one !== "*" && !known.has(one));
  const names = `names ${unknown.join(", ")}, which the Service does not have. The other ports have TLS. Correct it.`;
  const hasNoBucket = settings["access-log-enabled"] && settings["access-log-s3-bucket-name"] === undefined;
  return applicable(
    ...(isNetwork(service) ? networkContradictions(service) : classicContradictions(service)),
    hasNoBucket && invalid("access-log-s3-bucket-name", `is required for access logs. ${stays} Set it.`),
    unknown.length > 0 && { ...invalid("ssl-ports", names), severity: "warning" },
  );
}

function problemsOf(desired: Desired): readonly ProviderProblem[] {
  const isUnreachable = desired.sourceRanges !== undefined && rangesOf(desired, "IPv4").length === 0;
  const bare = desired.ports.filter(({ nodePort }) => nodePort === undefined).map(({ port }) => port);
  const servesOthers = bare.length > 0 && bare.length < desired.ports.length;
  const isLeftOut = `Port ${bare.join(", ")} has no node port, to which AWS forwards, and is left out. Remove allocateLoadBalancerNodePorts: false.`;
  const noPort = `The Service has no node port, to which AWS forwards. ${stays} Remove allocateLoadBalancerNodePorts: false.`;
  const noRange = `All ranges of clients are IPv6, and the load balancer forwards to IPv4. ${stays} Add an IPv4 range to spec.loadBalancerSourceRanges.`;
  return applicable(
    ...contradictions(desired),
    servedPorts(desired).length === 0 && unsupported(noPort),
    servesOthers && warningProblem("UnsupportedByCloud", isLeftOut),
    isUnreachable && unsupported(noRange),
  );
}

/** The security groups that Fairlead or the Go manager has created for this load balancer, and that nothing else uses. */
function ownGroups(
  desired: Desired | undefined,
  observed: Observed,
  { operator, network: { identity } }: PlanInput,
): readonly ApiSecurityGroup[] {
  const { lb, network, groups, usedGroups } = observed;
  const names = [
    classicGroupName(lb),
    ...(desired === undefined ? [] : [networkGroupName(operator.cluster, desired.owner)]),
  ];
  const { "security-groups": given = [], "extra-security-groups": extra = [] } = desired?.settings ?? {};
  const kept = new Set([...given, ...extra, operator["elb-security-group"]]);
  return groups.filter(({ groupId: id, groupName: name = "", groupDescription: text, vpcId, tagSet }) => {
    // With another --cluster-name the group has a different name.
    const isManaged = network?.SecurityGroups?.includes(id) === true && text === managedDescription;
    const isNamed = names.includes(name ?? "") || isManaged;
    return (
      isNamed &&
      vpcId === identity.vpc &&
      isOwned(identity.tag, tagSet) &&
      !usedGroups.has(id) &&
      !kept.has(id)
    );
  });
}

/** Deletes the load balancer first, because it uses its target groups and security groups. */
function planEnd(
  desired: Desired | undefined,
  observed: Observed | undefined,
  input: PlanInput,
): Plan<AwsStep> {
  if (observed === undefined) return { steps: [] };
  const { lb, classic, network, targetGroups } = observed;
  const own = ownGroups(desired, observed, input);
  const ids = own.map(({ groupId }) => groupId);
  const peers = { current: classic?.SecurityGroups ?? [], former: ids, own: ids };
  const closing = [
    ...restOnUses(closeSteps(classicGroupChanges(observed, peers, []), "load balancer")),
    ...(classic === undefined ? closeSteps(networkGroupChanges(observed, [], []), "load balancer") : []),
  ];
  const arn = network?.LoadBalancerArn;
  const unused = targetGroups.filter((one) => isDeletable(one, arn));
  const deletion = { do: "delete load balancer", on: lb };
  const steps: readonly AwsStep[] = [
    ...(input.operator["disable-security-group-ingress"] ? [] : closing),
    ...(classic === undefined ? [] : [{ ...deletion, requests: [elb("DeleteLoadBalancer", lb, {})] }]),
    ...(arn === undefined
      ? []
      : [{ ...deletion, requests: [elbv2("DeleteLoadBalancer", { LoadBalancerArn: arn })] }]),
    ...unused.map(deleteTargetGroup),
    ...own.map(deleteGroup),
  ];
  const kind = network === undefined ? ("classic" as const) : ("network" as const);
  const last = steps.length - 1;
  return { steps: steps.map((one, index) => (index === last ? { ...one, proves: { lb, kind } } : one)) };
}

export function planLoadBalancer(
  desired: Desired | undefined,
  observed: Observed | undefined,
  input: PlanInput,
): Plan<AwsStep> {
  if (desired === undefined || desired.ending !== undefined) return planEnd(desired, observed, input);
  if (isOthers(desired)) return { steps: [] };
  const problems = problemsOf(desired);
  if (hasErrors(problems)) return { steps: [], problems };
  const needsGroups = !input.operator["disable-security-group-ingress"];
  const isUnlisted = ({ machine }: Desired["targets"][number]) => machine !== undefined && !machine.handles;
  if (needsGroups && desired.targets.some(isUnlisted))
    return { ...waitFor("the instances of the Nodes to be listed", seconds(5)), problems };
  const failed = observed?.network?.State?.Code === "failed";
  const text = `AWS could not set up the load balancer ${desired.defaultName}: ${observed?.network?.State?.Reason ?? "no reason given"}. It is not changed. Recreate the Service.`;
  if (failed) return { steps: [], problems: [...problems, errorProblem("UnsupportedByCloud", text)] };
  const plan = isNetwork(desired)
    ? planNetwork(desired, observed, input)
    : planClassic(desired, observed, input);
  return { ...plan, steps: plan.steps.map(withParts), problems: [...problems, ...(plan.problems ?? [])] };
}

// The changes of a plan as data: each step has its requests, named as in AWS's API reference. Pure.

import type { Step } from "#ccm";
import type { Ec2Api, Ec2Changes } from "../api/ec2.ts";
import type { ClassicChanges, ElbApi, ElbChanges } from "../api/elb.ts";
import type { Elbv2Api, Elbv2Changes } from "../api/elbv2.ts";
import type { Checked, Rule } from "./rules.ts";

/** The requests that plans send. */
export interface BalancingApi {
  readonly ec2: Ec2Api;
  readonly elb: ElbApi;
  readonly elbv2: Elbv2Api;
}

type RequestsOf<S extends string, C> = {
  readonly [A in keyof C & string]: { readonly service: S; readonly action: A; readonly parameters: C[A] };
}[keyof C & string];

/**
 * A request to AWS. Its texts may be placeholders of `created`: the id of an object that an earlier request of the step
 * has created.
 */
export type ApiRequest =
  | RequestsOf<"ec2", Ec2Changes>
  | RequestsOf<"elb", ElbChanges>
  | RequestsOf<"elbv2", Elbv2Changes>;

/** Adds rules to the current security groups of Nodes, for a load balancer that is being created. */
export interface OpenNodes {
  readonly lists: readonly (readonly string[])[];
  readonly rules: readonly Rule[];
}

/** Removes rules of a security group, except those for ports that other load balancers check at this time. */
export interface CloseNodes {
  readonly group: string;
  readonly rules: readonly Rule[];
  readonly checked: Checked;
}

export type Request =
  | ApiRequest
  | { readonly open: OpenNodes }
  | { readonly close: CloseNodes }
  /** Removes rules of this security group that no load balancer needs. */
  | { readonly tidy: string };

export const ec2 = <A extends keyof Ec2Changes>(action: A, parameters: Ec2Changes[A]): ApiRequest =>
  ({ service: "ec2", action, parameters }) as ApiRequest;
export const elb = <A extends keyof ClassicChanges>(
  action: A,
  LoadBalancerName: string,
  parameters: ClassicChanges[A],
): ApiRequest => ({ service: "elb", action, parameters: { LoadBalancerName, ...parameters } }) as ApiRequest;
export const elbv2 = <A extends keyof Elbv2Changes>(action: A, parameters: Elbv2Changes[A]): ApiRequest =>
  ({ service: "elbv2", action, parameters }) as ApiRequest;

/** Placeholders for the ids that responses return. */
export const created = { group: "{group}", balancer: "{balancer}", targetGroup: "{target group}" } as const;

export interface AwsStep extends Step {
  readonly on: string;
  /** The requests in the order in which they are sent. */
  readonly requests: readonly Request[];
  /** The last step of a deletion: the load balancer with this name is looked up. */
  readonly proves?: { readonly lb: string; readonly kind: "classic" | "network" } | undefined;
  /** The Nodes of registered instances, by id of the instance. */
  readonly nodes?: Readonly<Record<string, string>> | undefined;
}

/** The parts to read again after a change, besides security groups by id. `balancer` is a classic load balancer. */
export type Part = "balancer" | "attributes" | "listeners" | "targets";

/** After other changes, a listing follows. */
const parts: Readonly<Partial<Record<ApiRequest["action"], Part>>> = {
  ConfigureHealthCheck: "balancer",
  CreateLoadBalancerListeners: "balancer",
  CreateLoadBalancerPolicy: "balancer",
  DeleteLoadBalancerListeners: "balancer",
  DeregisterInstancesFromLoadBalancer: "balancer",
  RegisterInstancesWithLoadBalancer: "balancer",
  SetLoadBalancerPoliciesForBackendServer: "balancer",
  SetLoadBalancerPoliciesOfListener: "balancer",
  ModifyLoadBalancerAttributes: "attributes",
  CreateListener: "listeners",
  CreateTargetGroup: "listeners",
  ModifyTargetGroup: "listeners",
  DeregisterTargets: "targets",
  RegisterTargets: "targets",
};

function partsOf(request: Request): readonly string[] | undefined {
  if ("open" in request) return request.open.lists.flat();
  if ("close" in request) return [request.close.group];
  if ("tidy" in request) return [request.tidy];
  if (request.action === "AuthorizeSecurityGroupIngress" || request.action === "RevokeSecurityGroupIngress")
    return [request.parameters.GroupId];
  // A new target group is read with its listener.
  if (request.action === "RegisterTargets" && request.parameters.TargetGroupArn === created.targetGroup)
    return [];
  const part = parts[request.action];
  return part && [part];
}

/** Adds the parts of the load balancer that the step depends on. */
export function withParts(step: AwsStep): AwsStep {
  const all = step.requests.map(partsOf);
  if (step.restsOn !== undefined || all.includes(undefined)) return step;
  return { ...step, restsOn: [...new Set(all.flatMap((some = []) => some))] };
}

/** Only a listing shows whether another load balancer needs what a step changes. */
export const onListing = ["listing"] as const;

/** A step with the necessary requests, if there are any. */
export function stepFor(
  about: Omit<AwsStep, "requests">,
  ...requests: readonly (Request | false)[]
): readonly AwsStep[] {
  const needed = requests.filter((one) => one !== false);
  return needed.length === 0 ? [] : [{ ...about, requests: needed }];
}

// The calls of Elastic Load Balancing for network load balancers (version 2015-12-01), by the names and parameters of AWS's API
// reference.

import { type Call, type Context, collect } from "#ccm";
import { elbv2Actions } from "./actions.ts";
import type { Tag } from "./ec2.ts";
import { type Access, type Parameters, QueryApi, type Service } from "./query-api.ts";
import type { ApiTags, Lists, Maybe, Texts } from "./resources.ts";

type Action = keyof typeof elbv2Actions;

const service: Service<Action> = {
  name: "Elastic Load Balancing v2",
  account: "elbv2",
  id: "elasticloadbalancing",
  version: "2015-12-01",
  entry: "member",
  actions: elbv2Actions,
};

/** An attribute of a load balancer or target group. */
export type Attribute = Tag;

/** A load balancer as responses show it: all values are text. */
export interface ApiBalancer
  extends Texts<"Type" | "Scheme" | "DNSName" | "IpAddressType">,
    Lists<{
      SecurityGroups: string;
      AvailabilityZones: Texts<"SubnetId"> &
        Lists<{ LoadBalancerAddresses: Texts<"AllocationId" | "PrivateIPv4Address"> }>;
    }> {
  readonly LoadBalancerArn: string;
  readonly LoadBalancerName: string;
  readonly State?: Maybe<Texts<"Code" | "Reason">>;
}

export interface ApiListener
  extends Texts<"Port" | "Protocol" | "SslPolicy">,
    Lists<{ Certificates: Texts<"CertificateArn">; DefaultActions: Texts<"TargetGroupArn"> }> {
  readonly ListenerArn: string;
}

export interface ApiTargetGroup
  extends Texts<keyof HealthCheck | "TargetGroupName" | "Protocol" | "Port">,
    Lists<{ LoadBalancerArns: string }> {
  readonly TargetGroupArn: string;
}

export interface ApiTargetHealth {
  readonly Target: { readonly Id: string } & Texts<"Port">;
  readonly TargetHealth?: Maybe<Texts<"State" | "Reason" | "Description">>;
}

export type ApiTagsOfResource = { readonly ResourceArn: string } & ApiTags;

export type Target = { readonly Id: string; readonly Port?: number };

export type HealthCheck = {
  readonly HealthCheckProtocol?: string;
  readonly HealthCheckPort?: string;
  readonly HealthCheckPath?: string;
  readonly HealthCheckIntervalSeconds?: number;
  readonly HealthCheckTimeoutSeconds?: number;
  readonly HealthyThresholdCount?: number;
  readonly UnhealthyThresholdCount?: number;
};

/** A listener as requests write it. */
export type Listener = {
  readonly Port: number;
  readonly Protocol: string;
  readonly SslPolicy?: string;
  readonly Certificates?: readonly { readonly CertificateArn: string }[];
  readonly DefaultActions: readonly { readonly Type: "forward"; readonly TargetGroupArn: string }[];
};

/** Mutating requests. */
export interface Elbv2Changes {
  readonly AddTags: { readonly ResourceArns: readonly string[]; readonly Tags: readonly Tag[] };
  readonly CreateLoadBalancer: {
    readonly Name: string;
    readonly Type: "network";
    readonly Scheme: "internal" | "internet-facing";
    readonly IpAddressType?: "ipv4" | "dualstack";
    readonly SubnetMappings: readonly {
      readonly SubnetId: string;
      readonly AllocationId?: string;
      readonly PrivateIPv4Address?: string;
    }[];
    readonly SecurityGroups?: readonly string[];
    readonly Tags: readonly Tag[];
  };
  readonly DeleteLoadBalancer: { readonly LoadBalancerArn: string };
  readonly ModifyLoadBalancerAttributes: {
    readonly LoadBalancerArn: string;
    readonly Attributes: readonly Attribute[];
  };
  readonly SetSecurityGroups: {
    readonly LoadBalancerArn: string;
    readonly SecurityGroups: readonly string[];
  };
  readonly CreateListener: Listener & { readonly LoadBalancerArn: string; readonly Tags: readonly Tag[] };
  readonly ModifyListener: Listener & { readonly ListenerArn: string };
  readonly DeleteListener: { readonly ListenerArn: string };
  readonly CreateTargetGroup: HealthCheck & {
    readonly Name: string;
    readonly Protocol: string;
    readonly Port: number;
    readonly VpcId: string;
    readonly TargetType: "instance";
    readonly Tags: readonly Tag[];
  };
  readonly ModifyTargetGroup: HealthCheck & { readonly TargetGroupArn: string };
  readonly DeleteTargetGroup: { readonly TargetGroupArn: string };
  readonly ModifyTargetGroupAttributes: {
    readonly TargetGroupArn: string;
    readonly Attributes: readonly Attribute[];
  };
  readonly RegisterTargets: { readonly TargetGroupArn: string; readonly Targets: readonly Target[] };
  readonly DeregisterTargets: { readonly TargetGroupArn: string; readonly Targets: readonly Target[] };
}

const cursor = ["Marker", "NextMarker"] as const;
const all = { PageSize: 400 };

export function elbv2Api(access: Access, account: Context["account"]) {
  const api = new QueryApi(service, access, account);
  const pages = <T>(action: Action, list: string, wanted: Parameters, call: Call, size: Parameters = all) =>
    api.pages<T>(action, wanted, { list, cursor, size }, call);
  const attributes = async (action: Action, wanted: Parameters, call: Call) => {
    const found = await api.entries<NonNullable<ApiTags["Tags"]>[number]>(action, wanted, "Attributes", call);
    return new Map(found.map(({ Key, Value }) => [Key, Value ?? ""]));
  };
  return {
    balancerPages: (call: Call) => pages<ApiBalancer>("DescribeLoadBalancers", "LoadBalancers", {}, call),
    /** Looks up at most 20 names or ARNs; throws `not-found` if one of them does not exist. */
    describeLoadBalancers: (
      wanted: { readonly Names: readonly string[] } | { readonly LoadBalancerArns: readonly string[] },
      call: Call,
    ) => collect(pages<ApiBalancer>("DescribeLoadBalancers", "LoadBalancers", wanted, call, {})),
    /** Reads the tags of at most 20 ARNs of any kind. */
    describeTags: (ResourceArns: readonly string[], call: Call) =>
      api.entries<ApiTagsOfResource>("DescribeTags", { ResourceArns }, "TagDescriptions", call),
    loadBalancerAttributes: (LoadBalancerArn: string, call: Call) =>
      attributes("DescribeLoadBalancerAttributes", { LoadBalancerArn }, call),
    describeListeners: (LoadBalancerArn: string, call: Call) =>
      collect(pages<ApiListener>("DescribeListeners", "Listeners", { LoadBalancerArn }, call)),
    /** Lists all target groups, or those of one load balancer. */
    targetGroupPages: (call: Call, wanted: { readonly LoadBalancerArn?: string } = {}) =>
      pages<ApiTargetGroup>("DescribeTargetGroups", "TargetGroups", wanted, call),
    targetGroupAttributes: (TargetGroupArn: string, call: Call) =>
      attributes("DescribeTargetGroupAttributes", { TargetGroupArn }, call),
    describeTargetHealth: (TargetGroupArn: string, call: Call) =>
      api.entries<ApiTargetHealth>(
        "DescribeTargetHealth",
        { TargetGroupArn },
        "TargetHealthDescriptions",
        call,
      ),
    change: <A extends keyof Elbv2Changes>(action: A, parameters: Elbv2Changes[A], call: Call) =>
      api.call(action, parameters, call),
  };
}

export type Elbv2Api = ReturnType<typeof elbv2Api>;

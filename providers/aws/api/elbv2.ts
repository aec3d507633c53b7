// The calls of Elastic Load Balancing for network load balancers (version 2015-12-01), by the names and parameters of AWS's API
// reference.

import type { Call, Context } from "#ccm";
import { elbv2Actions } from "./actions.ts";
import type { Tag } from "./ec2.ts";
import { type Access, type Paging, type Parameters, QueryApi, type Service } from "./query-api.ts";
import type { Maybe } from "./resources.ts";

const service: Service<keyof typeof elbv2Actions> = {
  name: "Elastic Load Balancing v2",
  account: "elbv2",
  id: "elasticloadbalancing",
  version: "2015-12-01",
  entry: "member",
  actions: elbv2Actions,
};

/** An attribute of a load balancer or target group. */
export type Attribute = { readonly Key: string; readonly Value: string };

/** As responses show it: all values are text. */
export interface ApiBalancer {
  readonly LoadBalancerArn: string;
  readonly LoadBalancerName: string;
  readonly Type?: Maybe<string>;
  readonly Scheme?: Maybe<string>;
  readonly DNSName?: Maybe<string>;
  readonly VpcId?: Maybe<string>;
  readonly IpAddressType?: Maybe<string>;
  readonly State?: Maybe<{ readonly Code?: Maybe<string>; readonly Reason?: Maybe<string> }>;
  readonly SecurityGroups?: Maybe<readonly string[]>;
  readonly AvailabilityZones?: Maybe<
    readonly {
      readonly ZoneName?: Maybe<string>;
      readonly SubnetId?: Maybe<string>;
      readonly LoadBalancerAddresses?: Maybe<
        readonly {
          readonly AllocationId?: Maybe<string>;
          readonly IpAddress?: Maybe<string>;
          readonly PrivateIPv4Address?: Maybe<string>;
        }[]
      >;
    }[]
  >;
}

export interface ApiListener {
  readonly ListenerArn: string;
  readonly LoadBalancerArn?: Maybe<string>;
  readonly Port?: Maybe<string>;
  readonly Protocol?: Maybe<string>;
  readonly SslPolicy?: Maybe<string>;
  readonly Certificates?: Maybe<readonly { readonly CertificateArn?: Maybe<string> }[]>;
  readonly AlpnPolicy?: Maybe<readonly string[]>;
  readonly DefaultActions?: Maybe<
    readonly { readonly Type?: Maybe<string>; readonly TargetGroupArn?: Maybe<string> }[]
  >;
}

export interface ApiTargetGroup {
  readonly TargetGroupArn: string;
  readonly TargetGroupName?: Maybe<string>;
  readonly Protocol?: Maybe<string>;
  readonly Port?: Maybe<string>;
  readonly TargetType?: Maybe<string>;
  readonly IpAddressType?: Maybe<string>;
  readonly LoadBalancerArns?: Maybe<readonly string[]>;
  readonly HealthCheckProtocol?: Maybe<string>;
  readonly HealthCheckPort?: Maybe<string>;
  readonly HealthCheckPath?: Maybe<string>;
  readonly HealthCheckIntervalSeconds?: Maybe<string>;
  readonly HealthCheckTimeoutSeconds?: Maybe<string>;
  readonly HealthyThresholdCount?: Maybe<string>;
  readonly UnhealthyThresholdCount?: Maybe<string>;
}

export interface ApiTargetHealth {
  readonly Target: { readonly Id: string; readonly Port?: Maybe<string> };
  readonly TargetHealth?: Maybe<{ readonly State?: Maybe<string>; readonly Reason?: Maybe<string> }>;
}

export interface ApiTagsOfResource {
  readonly ResourceArn: string;
  readonly Tags?: Maybe<readonly { readonly Key: string; readonly Value?: Maybe<string> }[]>;
}

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

/** A listener of requests. */
export type Listener = {
  readonly Port: number;
  readonly Protocol: string;
  readonly SslPolicy?: string;
  readonly Certificates?: readonly { readonly CertificateArn: string }[];
  readonly AlpnPolicy?: readonly string[];
  readonly DefaultActions: readonly { readonly Type: "forward"; readonly TargetGroupArn: string }[];
};

/** The requests that change something. */
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
  const list = <T>(
    action: keyof typeof elbv2Actions,
    member: string,
    parameters: Parameters,
    call: Call,
    size: Paging["size"] = all,
  ) => api.list<T>(action, parameters, { list: member, cursor, size }, call);
  const attributes = async (
    action: keyof typeof elbv2Actions,
    parameters: Parameters,
    call: Call,
  ): Promise<ReadonlyMap<string, string>> => {
    type Body = {
      readonly Attributes?: Maybe<readonly { readonly Key: string; readonly Value?: Maybe<string> }[]>;
    };
    const { Attributes } = await api.call<Body>(action, parameters, call);
    return new Map((Attributes ?? []).map(({ Key, Value }) => [Key, Value ?? ""]));
  };
  return {
    balancerPages: (call: Call) =>
      api.pages<ApiBalancer>("DescribeLoadBalancers", {}, { list: "LoadBalancers", cursor, size: all }, call),
    /** By at most 20 names or ARNs; throws `not-found` if one of them does not exist. */
    describeLoadBalancers: (
      wanted: { readonly Names: readonly string[] } | { readonly LoadBalancerArns: readonly string[] },
      call: Call,
    ) => list<ApiBalancer>("DescribeLoadBalancers", "LoadBalancers", wanted, call, {}),
    /** At most 20 ARNs, of any kind. */
    describeTags: async (
      ResourceArns: readonly string[],
      call: Call,
    ): Promise<readonly ApiTagsOfResource[]> => {
      type Body = { readonly TagDescriptions?: Maybe<readonly ApiTagsOfResource[]> };
      return (await api.call<Body>("DescribeTags", { ResourceArns }, call)).TagDescriptions ?? [];
    },
    loadBalancerAttributes: (LoadBalancerArn: string, call: Call) =>
      attributes("DescribeLoadBalancerAttributes", { LoadBalancerArn }, call),
    describeListeners: (LoadBalancerArn: string, call: Call) =>
      list<ApiListener>("DescribeListeners", "Listeners", { LoadBalancerArn }, call),
    /** All, or those of one load balancer. */
    targetGroupPages: (call: Call, wanted: { readonly LoadBalancerArn?: string } = {}) =>
      api.pages<ApiTargetGroup>(
        "DescribeTargetGroups",
        wanted,
        { list: "TargetGroups", cursor, size: all },
        call,
      ),
    targetGroupAttributes: (TargetGroupArn: string, call: Call) =>
      attributes("DescribeTargetGroupAttributes", { TargetGroupArn }, call),
    describeTargetHealth: async (TargetGroupArn: string, call: Call): Promise<readonly ApiTargetHealth[]> => {
      type Body = { readonly TargetHealthDescriptions?: Maybe<readonly ApiTargetHealth[]> };
      const body = await api.call<Body>("DescribeTargetHealth", { TargetGroupArn }, call);
      return body.TargetHealthDescriptions ?? [];
    },
    change: <A extends keyof Elbv2Changes>(action: A, parameters: Elbv2Changes[A], call: Call) =>
      api.call(action, parameters, call),
  };
}

export type Elbv2Api = ReturnType<typeof elbv2Api>;

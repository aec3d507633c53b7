// The calls of Elastic Load Balancing for network load balancers (version 2015-12-01), by the names and parameters of AWS's API
// reference.

import type { Call, Context } from "#ccm";
import { elbv2Actions } from "./actions.ts";
import type { Tag } from "./api-ec2.ts";
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

const cursor = ["Marker", "NextMarker"] as const;
const all = { PageSize: 400 };

export function elbv2Api(access: Access, account: Context["account"]) {
  const api = new QueryApi(service, access, account);
  const change = async (action: keyof typeof elbv2Actions, parameters: Parameters, call: Call) => {
    await api.call(action, parameters, call);
  };
  const list = <T>(
    action: keyof typeof elbv2Actions,
    member: string,
    parameters: Parameters,
    call: Call,
    size: Paging["size"] = all,
  ) => api.list<T>(action, parameters, { list: member, cursor, size }, call);
  /** The first entry of what a creation returns. */
  const create = async <T>(
    action: keyof typeof elbv2Actions,
    member: string,
    parameters: Parameters,
    call: Call,
  ): Promise<T | undefined> =>
    (await api.call<Readonly<Record<string, Maybe<readonly T[]>>>>(action, parameters, call))[member]?.[0];
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
    addTags: (ResourceArns: readonly string[], Tags: readonly Tag[], call: Call) =>
      change("AddTags", { ResourceArns, Tags }, call),
    createLoadBalancer: (
      balancer: {
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
      },
      call: Call,
    ) => create<ApiBalancer>("CreateLoadBalancer", "LoadBalancers", balancer, call),
    deleteLoadBalancer: (LoadBalancerArn: string, call: Call) =>
      change("DeleteLoadBalancer", { LoadBalancerArn }, call),
    loadBalancerAttributes: (LoadBalancerArn: string, call: Call) =>
      attributes("DescribeLoadBalancerAttributes", { LoadBalancerArn }, call),
    modifyLoadBalancerAttributes: (LoadBalancerArn: string, Attributes: readonly Attribute[], call: Call) =>
      change("ModifyLoadBalancerAttributes", { LoadBalancerArn, Attributes }, call),
    setSecurityGroups: (LoadBalancerArn: string, SecurityGroups: readonly string[], call: Call) =>
      change("SetSecurityGroups", { LoadBalancerArn, SecurityGroups }, call),

    describeListeners: (LoadBalancerArn: string, call: Call) =>
      list<ApiListener>("DescribeListeners", "Listeners", { LoadBalancerArn }, call),
    createListener: (
      LoadBalancerArn: string,
      listener: Listener & { readonly Tags?: readonly Tag[] },
      call: Call,
    ) => create<ApiListener>("CreateListener", "Listeners", { LoadBalancerArn, ...listener }, call),
    modifyListener: (ListenerArn: string, listener: Partial<Listener>, call: Call) =>
      change("ModifyListener", { ListenerArn, ...listener }, call),
    deleteListener: (ListenerArn: string, call: Call) => change("DeleteListener", { ListenerArn }, call),

    targetGroupPages: (call: Call) =>
      api.pages<ApiTargetGroup>(
        "DescribeTargetGroups",
        {},
        { list: "TargetGroups", cursor, size: all },
        call,
      ),
    /** By load balancer, or at most 20 names or ARNs; throws `not-found` if one of them does not exist. */
    describeTargetGroups: (
      wanted:
        | { readonly LoadBalancerArn: string }
        | { readonly Names: readonly string[] }
        | { readonly TargetGroupArns: readonly string[] },
      call: Call,
    ) => list<ApiTargetGroup>("DescribeTargetGroups", "TargetGroups", wanted, call, {}),
    createTargetGroup: (
      group: HealthCheck & {
        readonly Name: string;
        readonly Protocol: string;
        readonly Port: number;
        readonly VpcId: string;
        readonly TargetType: "instance";
        readonly IpAddressType?: string;
        readonly Tags: readonly Tag[];
      },
      call: Call,
    ) => create<ApiTargetGroup>("CreateTargetGroup", "TargetGroups", group, call),
    modifyTargetGroup: (TargetGroupArn: string, check: HealthCheck, call: Call) =>
      change("ModifyTargetGroup", { TargetGroupArn, ...check }, call),
    deleteTargetGroup: (TargetGroupArn: string, call: Call) =>
      change("DeleteTargetGroup", { TargetGroupArn }, call),
    targetGroupAttributes: (TargetGroupArn: string, call: Call) =>
      attributes("DescribeTargetGroupAttributes", { TargetGroupArn }, call),
    modifyTargetGroupAttributes: (TargetGroupArn: string, Attributes: readonly Attribute[], call: Call) =>
      change("ModifyTargetGroupAttributes", { TargetGroupArn, Attributes }, call),
    describeTargetHealth: async (TargetGroupArn: string, call: Call): Promise<readonly ApiTargetHealth[]> => {
      type Body = { readonly TargetHealthDescriptions?: Maybe<readonly ApiTargetHealth[]> };
      const body = await api.call<Body>("DescribeTargetHealth", { TargetGroupArn }, call);
      return body.TargetHealthDescriptions ?? [];
    },
    registerTargets: (TargetGroupArn: string, Targets: readonly Target[], call: Call) =>
      change("RegisterTargets", { TargetGroupArn, Targets }, call),
    deregisterTargets: (TargetGroupArn: string, Targets: readonly Target[], call: Call) =>
      change("DeregisterTargets", { TargetGroupArn, Targets }, call),
  };
}

export type Elbv2Api = ReturnType<typeof elbv2Api>;

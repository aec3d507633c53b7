// The calls of Elastic Load Balancing for classic load balancers (version 2012-06-01), by the names and parameters of AWS's API reference.

import type { Call, Context } from "#ccm";
import { elbActions } from "./actions.ts";
import type { Tag } from "./ec2.ts";
import { type Access, QueryApi, type Service } from "./query-api.ts";
import type { ApiTags, Lists, Maybe, Texts } from "./resources.ts";

const service: Service<keyof typeof elbActions> = {
  name: "Elastic Load Balancing",
  account: "elb",
  id: "elasticloadbalancing",
  version: "2012-06-01",
  entry: "member",
  actions: elbActions,
};

/** A listener as requests write it. */
export type ClassicListener = {
  readonly Protocol: string;
  readonly LoadBalancerPort: number;
  readonly InstanceProtocol: string;
  readonly InstancePort: number;
  readonly SSLCertificateId?: string;
};

export type ClassicHealthCheck = {
  readonly Target: string;
  readonly Interval: number;
  readonly Timeout: number;
  readonly UnhealthyThreshold: number;
  readonly HealthyThreshold: number;
};

type TextsOf<R> = { readonly [K in keyof R]?: Maybe<string> };

/** A load balancer as responses show it: all values are text. */
export interface ApiClassicBalancer
  extends Texts<"DNSName" | "VPCId" | "Scheme">,
    Lists<{
      Subnets: string;
      SecurityGroups: string;
      Instances: { readonly InstanceId: string };
      ListenerDescriptions: { readonly Listener: TextsOf<ClassicListener> } & Lists<{ PolicyNames: string }>;
      BackendServerDescriptions: Texts<"InstancePort"> & Lists<{ PolicyNames: string }>;
    }> {
  readonly LoadBalancerName: string;
  readonly HealthCheck?: Maybe<TextsOf<ClassicHealthCheck>>;
  readonly Policies?: Maybe<Lists<{ OtherPolicies: string }>>;
}

export interface ApiInstanceHealth extends Texts<"State" | "ReasonCode" | "Description"> {
  readonly InstanceId: string;
}

/** The attributes as requests write them. */
export type ClassicAttributes = {
  readonly CrossZoneLoadBalancing?: { readonly Enabled: boolean };
  readonly ConnectionDraining?: { readonly Enabled: boolean; readonly Timeout?: number };
  readonly ConnectionSettings?: { readonly IdleTimeout: number };
  readonly AccessLog?: {
    readonly Enabled: boolean;
    readonly EmitInterval?: number;
    readonly S3BucketName?: string;
    readonly S3BucketPrefix?: string;
  };
};

/** Attributes in responses: like those in requests, but with strings for numbers and booleans. */
export type ApiClassicAttributes = {
  readonly [K in keyof ClassicAttributes]?: Maybe<TextsOf<NonNullable<ClassicAttributes[K]>>>;
};

export type ApiTagsOfBalancer = { readonly LoadBalancerName: string } & ApiTags;

/** Lists load balancers in pages of the largest size. */
const balancers = {
  list: "LoadBalancerDescriptions",
  size: { PageSize: 400 },
  cursor: ["Marker", "NextMarker"],
} as const;

type Instances = { readonly Instances: readonly { readonly InstanceId: string }[] };

/** The requests that change a load balancer, with their parameters besides its name. */
export interface ClassicChanges {
  readonly CreateLoadBalancer: {
    readonly Listeners: readonly ClassicListener[];
    readonly Subnets: readonly string[];
    readonly SecurityGroups: readonly string[];
    readonly Scheme?: "internal";
    readonly Tags: readonly Tag[];
  };
  readonly DeleteLoadBalancer: object;
  readonly CreateLoadBalancerListeners: { readonly Listeners: readonly ClassicListener[] };
  readonly DeleteLoadBalancerListeners: { readonly LoadBalancerPorts: readonly number[] };
  readonly CreateLoadBalancerPolicy: {
    readonly PolicyName: string;
    readonly PolicyTypeName: string;
    readonly PolicyAttributes: readonly { readonly AttributeName: string; readonly AttributeValue: string }[];
  };
  /** Replaces all policies: with an empty list, none remains. */
  readonly SetLoadBalancerPoliciesForBackendServer: {
    readonly InstancePort: number;
    readonly PolicyNames: readonly string[];
  };
  readonly SetLoadBalancerPoliciesOfListener: {
    readonly LoadBalancerPort: number;
    readonly PolicyNames: readonly string[];
  };
  readonly AttachLoadBalancerToSubnets: { readonly Subnets: readonly string[] };
  readonly DetachLoadBalancerFromSubnets: { readonly Subnets: readonly string[] };
  readonly ApplySecurityGroupsToLoadBalancer: { readonly SecurityGroups: readonly string[] };
  readonly ConfigureHealthCheck: { readonly HealthCheck: ClassicHealthCheck };
  readonly ModifyLoadBalancerAttributes: { readonly LoadBalancerAttributes: ClassicAttributes };
  readonly RegisterInstancesWithLoadBalancer: Instances;
  readonly DeregisterInstancesFromLoadBalancer: Instances;
}

/** All requests that change something. */
export type ElbChanges = {
  readonly [A in keyof ClassicChanges]: ClassicChanges[A] & { readonly LoadBalancerName: string };
} & {
  readonly AddTags: { readonly LoadBalancerNames: readonly string[]; readonly Tags: readonly Tag[] };
};

export function elbApi(access: Access, account: Context["account"]) {
  const api = new QueryApi(service, access, account);
  return {
    balancerPages: (call: Call) =>
      api.pages<ApiClassicBalancer>("DescribeLoadBalancers", {}, balancers, call),
    /** Throws `not-found` if no load balancer has this name. */
    describeLoadBalancer: async (name: string, call: Call): Promise<ApiClassicBalancer | undefined> => {
      const wanted = { LoadBalancerNames: [name] };
      const { size, ...paging } = balancers;
      return (await api.list<ApiClassicBalancer>("DescribeLoadBalancers", wanted, paging, call))[0];
    },
    /** Reads the tags of at most 20 names. */
    describeTags: (LoadBalancerNames: readonly string[], call: Call) =>
      api.entries<ApiTagsOfBalancer>("DescribeTags", { LoadBalancerNames }, "TagDescriptions", call),
    describeAttributes: async (LoadBalancerName: string, call: Call): Promise<ApiClassicAttributes> => {
      type Body = { readonly LoadBalancerAttributes?: Maybe<ApiClassicAttributes> };
      const body = await api.call<Body>("DescribeLoadBalancerAttributes", { LoadBalancerName }, call);
      return body.LoadBalancerAttributes ?? {};
    },
    describeInstanceHealth: (LoadBalancerName: string, call: Call) =>
      api.entries<ApiInstanceHealth>("DescribeInstanceHealth", { LoadBalancerName }, "InstanceStates", call),
    change: <A extends keyof ElbChanges>(action: A, parameters: ElbChanges[A], call: Call) =>
      api.call(action, parameters, call),
  };
}

export type ElbApi = ReturnType<typeof elbApi>;

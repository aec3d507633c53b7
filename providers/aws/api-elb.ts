// The calls of Elastic Load Balancing for classic load balancers (version 2012-06-01), by the names and parameters of AWS's API reference.

import type { Call, Context } from "#ccm";
import { elbActions } from "./actions.ts";
import type { Tag } from "./api-ec2.ts";
import { type Access, type Parameters, QueryApi, type Service } from "./query-api.ts";
import type { Maybe } from "./resources.ts";

const service: Service<keyof typeof elbActions> = {
  name: "Elastic Load Balancing",
  account: "elb",
  id: "elasticloadbalancing",
  version: "2012-06-01",
  entry: "member",
  actions: elbActions,
};

/** A listener of requests. */
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

/** As responses show it: all values are text. */
export interface ApiClassicBalancer {
  readonly LoadBalancerName: string;
  readonly DNSName?: Maybe<string>;
  readonly VPCId?: Maybe<string>;
  readonly Scheme?: Maybe<string>;
  readonly Subnets?: Maybe<readonly string[]>;
  readonly SecurityGroups?: Maybe<readonly string[]>;
  readonly Instances?: Maybe<readonly { readonly InstanceId: string }[]>;
  readonly HealthCheck?: Maybe<{ readonly [K in keyof ClassicHealthCheck]?: Maybe<string> }>;
  readonly ListenerDescriptions?: Maybe<
    readonly {
      readonly Listener: { readonly [K in keyof ClassicListener]?: Maybe<string> };
      readonly PolicyNames?: Maybe<readonly string[]>;
    }[]
  >;
  readonly Policies?: Maybe<{ readonly OtherPolicies?: Maybe<readonly string[]> }>;
  readonly BackendServerDescriptions?: Maybe<
    readonly { readonly InstancePort?: Maybe<string>; readonly PolicyNames?: Maybe<readonly string[]> }[]
  >;
}

/** The attributes of requests. */
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

/** The attributes of responses: as those of requests, with text for numbers and switches. */
export type ApiClassicAttributes = {
  readonly [K in keyof ClassicAttributes]?: Maybe<{
    readonly [M in keyof NonNullable<ClassicAttributes[K]>]?: Maybe<string>;
  }>;
};

export interface ApiTagsOfBalancer {
  readonly LoadBalancerName: string;
  readonly Tags?: Maybe<readonly { readonly Key: string; readonly Value?: Maybe<string> }[]>;
}

/** The largest page. */
const balancers = {
  list: "LoadBalancerDescriptions",
  size: { PageSize: 400 },
  cursor: ["Marker", "NextMarker"],
} as const;

export function elbApi(access: Access, account: Context["account"]) {
  const api = new QueryApi(service, access, account);
  const change = async (action: keyof typeof elbActions, parameters: Parameters, call: Call) => {
    await api.call(action, parameters, call);
  };
  const ofBalancer = <P extends Parameters>(action: keyof typeof elbActions) => {
    return (LoadBalancerName: string, parameters: P, call: Call) =>
      change(action, { LoadBalancerName, ...parameters }, call);
  };
  type Instances = { readonly Instances: readonly { readonly InstanceId: string }[] };
  return {
    balancerPages: (call: Call) =>
      api.pages<ApiClassicBalancer>("DescribeLoadBalancers", {}, balancers, call),
    /** Throws `not-found` if there is none with this name. */
    describeLoadBalancer: async (name: string, call: Call): Promise<ApiClassicBalancer | undefined> => {
      const wanted = { LoadBalancerNames: [name] };
      const { size, ...paging } = balancers;
      return (await api.list<ApiClassicBalancer>("DescribeLoadBalancers", wanted, paging, call))[0];
    },
    /** At most 20 names. */
    describeTags: async (names: readonly string[], call: Call): Promise<readonly ApiTagsOfBalancer[]> => {
      type Body = { readonly TagDescriptions?: Maybe<readonly ApiTagsOfBalancer[]> };
      return (await api.call<Body>("DescribeTags", { LoadBalancerNames: names }, call)).TagDescriptions ?? [];
    },
    addTags: (names: readonly string[], Tags: readonly Tag[], call: Call) =>
      change("AddTags", { LoadBalancerNames: names, Tags }, call),
    createLoadBalancer: (
      balancer: {
        readonly LoadBalancerName: string;
        readonly Listeners: readonly ClassicListener[];
        readonly Subnets: readonly string[];
        readonly SecurityGroups: readonly string[];
        readonly Scheme?: "internal";
        readonly Tags: readonly Tag[];
      },
      call: Call,
    ) => api.call<{ readonly DNSName?: Maybe<string> }>("CreateLoadBalancer", balancer, call),
    deleteLoadBalancer: (LoadBalancerName: string, call: Call) =>
      change("DeleteLoadBalancer", { LoadBalancerName }, call),
    createListeners: ofBalancer<{ readonly Listeners: readonly ClassicListener[] }>(
      "CreateLoadBalancerListeners",
    ),
    deleteListeners: ofBalancer<{ readonly LoadBalancerPorts: readonly number[] }>(
      "DeleteLoadBalancerListeners",
    ),
    createPolicy: ofBalancer<{
      readonly PolicyName: string;
      readonly PolicyTypeName: string;
      readonly PolicyAttributes: readonly {
        readonly AttributeName: string;
        readonly AttributeValue: string;
      }[];
    }>("CreateLoadBalancerPolicy"),
    /** The policies are replaced: with none, none is left. */
    setPoliciesForBackend: ofBalancer<{
      readonly InstancePort: number;
      readonly PolicyNames: readonly string[];
    }>("SetLoadBalancerPoliciesForBackendServer"),
    setPoliciesOfListener: ofBalancer<{
      readonly LoadBalancerPort: number;
      readonly PolicyNames: readonly string[];
    }>("SetLoadBalancerPoliciesOfListener"),
    attachSubnets: ofBalancer<{ readonly Subnets: readonly string[] }>("AttachLoadBalancerToSubnets"),
    detachSubnets: ofBalancer<{ readonly Subnets: readonly string[] }>("DetachLoadBalancerFromSubnets"),
    applySecurityGroups: ofBalancer<{ readonly SecurityGroups: readonly string[] }>(
      "ApplySecurityGroupsToLoadBalancer",
    ),
    configureHealthCheck: ofBalancer<{ readonly HealthCheck: ClassicHealthCheck }>("ConfigureHealthCheck"),
    describeAttributes: async (LoadBalancerName: string, call: Call): Promise<ApiClassicAttributes> => {
      type Body = { readonly LoadBalancerAttributes?: Maybe<ApiClassicAttributes> };
      const body = await api.call<Body>("DescribeLoadBalancerAttributes", { LoadBalancerName }, call);
      return body.LoadBalancerAttributes ?? {};
    },
    modifyAttributes: ofBalancer<{ readonly LoadBalancerAttributes: ClassicAttributes }>(
      "ModifyLoadBalancerAttributes",
    ),
    registerInstances: ofBalancer<Instances>("RegisterInstancesWithLoadBalancer"),
    deregisterInstances: ofBalancer<Instances>("DeregisterInstancesFromLoadBalancer"),
  };
}

export type ElbApi = ReturnType<typeof elbApi>;

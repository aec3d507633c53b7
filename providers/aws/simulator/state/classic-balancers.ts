// Classic load balancers of the simulated region.

import { list, type Params, record, records, refusal, tagMap, text } from "./balancing-parameters.ts";

/** The data of the VPC that load balancers need. */
export interface Vpc {
  readonly vpc: string;
  /** The subnet's zone. */
  zoneOf(subnet: string): string | undefined;
  /** Whether an instance exists and runs. */
  isRunning(instance: string): boolean;
  hasGroup(id: string): boolean;
}

interface ClassicListener {
  readonly port: string;
  readonly view: Readonly<Record<string, string>>;
  policies: readonly string[];
}

export interface ClassicBalancer {
  readonly name: string;
  readonly scheme: string;
  subnets: readonly string[];
  groups: readonly string[];
  listeners: readonly ClassicListener[];
  instances: readonly string[];
  check: Readonly<Record<string, string>>;
  attributes: Readonly<Record<string, Readonly<Record<string, string>>>>;
  policies: readonly string[];
  readonly backends: Map<string, readonly string[]>;
  readonly tags: Map<string, string>;
}

const usualAttributes = {
  AccessLog: { Enabled: "false" },
  ConnectionDraining: { Enabled: "false", Timeout: "300" },
  ConnectionSettings: { IdleTimeout: "60" },
  CrossZoneLoadBalancing: { Enabled: "false" },
};

const texts = (params: Params): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(params).flatMap(([name, value]) => (typeof value === "string" ? [[name, value]] : [])),
  );

export class ClassicBalancers {
  readonly #vpc: Vpc;
  readonly #all = new Map<string, ClassicBalancer>();
  /** ARNs of certificates that do not exist. */
  readonly unknownCertificates = new Set<string>();
  limit = 20;
  /** Health check results of an instance. */
  health: (id: string) => {
    readonly State: string;
    readonly ReasonCode?: string;
    readonly Description?: string;
  } = () => ({ State: "InService", ReasonCode: "N/A", Description: "N/A" });

  constructor(vpc: Vpc) {
    this.#vpc = vpc;
  }

  all(): readonly ClassicBalancer[] {
    return [...this.#all.values()];
  }

  existing(name: string): ClassicBalancer {
    const found = this.#all.get(name);
    if (found === undefined)
      throw refusal("LoadBalancerNotFound", `There is no ACTIVE Load Balancer named '${name}'`);
    return found;
  }

  #listeners(params: Params, existing: readonly ClassicListener[]): readonly ClassicListener[] {
    const added = records(params, "Listeners").map((one): ClassicListener => {
      const view = texts(one);
      const certificate = view["SSLCertificateId"] ?? "";
      if (this.unknownCertificates.has(certificate))
        throw refusal("CertificateNotFound", `Server Certificate not found for the key: ${certificate}`);
      const isTLS = /^(ssl|https)$/i.test(view["Protocol"] ?? "");
      return {
        port: view["LoadBalancerPort"] ?? "",
        view: {
          ...view,
          Protocol: (view["Protocol"] ?? "").toUpperCase(),
          InstanceProtocol: (view["InstanceProtocol"] ?? "").toUpperCase(),
        },
        policies: isTLS ? ["ELBSecurityPolicy-2016-08"] : [],
      };
    });
    const taken = existing.find((one) => added.some(({ port }) => port === one.port));
    if (taken !== undefined)
      throw refusal("DuplicateListener", `A listener already exists for ${taken.port}`);
    return [...existing, ...added];
  }

  #checkSubnets(subnets: readonly string[]): void {
    const zones = subnets.map((id) => this.#vpc.zoneOf(id));
    const missing = subnets.find((_, index) => zones[index] === undefined);
    if (missing !== undefined)
      throw refusal("SubnetNotFound", `The requested configuration requires the subnet ${missing}`);
    if (new Set(zones).size < zones.length)
      throw refusal("InvalidConfigurationRequest", "Only one subnet per zone");
  }

  #checkGroups(groups: readonly string[]): void {
    const missing = groups.find((id) => !this.#vpc.hasGroup(id));
    if (missing !== undefined)
      throw refusal("InvalidSecurityGroup", `One or more security groups are invalid: ${missing}`);
  }

  #create(params: Params): object {
    const name = text(params, "LoadBalancerName");
    if (this.#all.has(name))
      throw refusal(
        "DuplicateLoadBalancerName",
        `Load Balancer named ${name} already exists and it is configured with different parameters.`,
      );
    if (this.#all.size >= this.limit)
      throw refusal("TooManyLoadBalancers", "The quota of load balancers has been reached");
    const [subnets, groups] = [list(params, "Subnets"), list(params, "SecurityGroups")];
    this.#checkSubnets(subnets);
    this.#checkGroups(groups);
    const balancer: ClassicBalancer = {
      name,
      scheme: text(params, "Scheme") || "internet-facing",
      subnets,
      groups,
      listeners: this.#listeners(params, []),
      instances: [],
      policies: [],
      backends: new Map(),
      check: {
        Target: "TCP:80",
        Interval: "30",
        Timeout: "5",
        UnhealthyThreshold: "2",
        HealthyThreshold: "10",
      },
      attributes: usualAttributes,
      tags: tagMap(params),
    };
    this.#all.set(name, balancer);
    return { DNSName: dnsName(balancer) };
  }

  #change(action: string, params: Params, balancer: ClassicBalancer): object | undefined {
    const instances = () => records(params, "Instances").map((one) => text(one, "InstanceId"));
    switch (action) {
      case "CreateLoadBalancerListeners":
        balancer.listeners = this.#listeners(params, balancer.listeners);
        return {};
      case "DeleteLoadBalancerListeners":
        balancer.listeners = balancer.listeners.filter(
          ({ port }) => !list(params, "LoadBalancerPorts").includes(port),
        );
        return {};
      case "AttachLoadBalancerToSubnets": {
        const added = list(params, "Subnets");
        this.#checkSubnets(added);
        const zones = new Set(added.map((id) => this.#vpc.zoneOf(id)));
        balancer.subnets = [...balancer.subnets.filter((id) => !zones.has(this.#vpc.zoneOf(id))), ...added];
        return {};
      }
      case "DetachLoadBalancerFromSubnets": {
        const left = balancer.subnets.filter((id) => !list(params, "Subnets").includes(id));
        if (left.length === 0) throw refusal("InvalidConfigurationRequest", "Can't detach all subnets");
        balancer.subnets = left;
        return {};
      }
      case "ApplySecurityGroupsToLoadBalancer":
        this.#checkGroups(list(params, "SecurityGroups"));
        balancer.groups = list(params, "SecurityGroups");
        return {};
      case "ConfigureHealthCheck":
        balancer.check = texts(record(params, "HealthCheck"));
        return {};
      case "ModifyLoadBalancerAttributes": {
        const given = record(params, "LoadBalancerAttributes");
        const named = Object.keys(given).map(
          (name) => [name, { ...balancer.attributes[name], ...texts(record(given, name)) }] as const,
        );
        balancer.attributes = { ...balancer.attributes, ...Object.fromEntries(named) };
        return {};
      }
      case "CreateLoadBalancerPolicy": {
        const name = text(params, "PolicyName");
        if (balancer.policies.includes(name))
          throw refusal("DuplicatePolicyName", `Policy ${name} already exists`);
        balancer.policies = [...balancer.policies, name];
        return {};
      }
      case "SetLoadBalancerPoliciesForBackendServer":
        this.#checkPolicies(balancer, list(params, "PolicyNames"));
        balancer.backends.set(text(params, "InstancePort"), list(params, "PolicyNames"));
        return {};
      case "SetLoadBalancerPoliciesOfListener": {
        this.#checkPolicies(balancer, list(params, "PolicyNames"));
        for (const one of balancer.listeners)
          if (one.port === text(params, "LoadBalancerPort")) one.policies = list(params, "PolicyNames");
        return {};
      }
      case "RegisterInstancesWithLoadBalancer": {
        const missing = instances().find((id) => !this.#vpc.isRunning(id));
        if (missing !== undefined)
          throw refusal("InvalidInstance", `Could not find EC2 instance ${missing}.`);
        balancer.instances = [...new Set([...balancer.instances, ...instances()])];
        return {};
      }
      case "DeregisterInstancesFromLoadBalancer": {
        const unknown = instances().find(
          (id) => !balancer.instances.includes(id) && !this.#vpc.isRunning(id),
        );
        if (unknown !== undefined)
          throw refusal("InvalidInstance", `Could not find EC2 instance ${unknown}.`);
        balancer.instances = balancer.instances.filter((id) => !instances().includes(id));
        return {};
      }
      case "DescribeLoadBalancerAttributes":
        return { LoadBalancerAttributes: balancer.attributes };
      case "DescribeInstanceHealth":
        return {
          InstanceStates: balancer.instances.map((InstanceId) => ({
            InstanceId,
            ...this.health(InstanceId),
          })),
        };
      case "DescribeLoadBalancerPolicies":
        this.#checkPolicies(balancer, list(params, "PolicyNames"));
        return { PolicyDescriptions: balancer.policies.map((PolicyName) => ({ PolicyName })) };
      default:
        return undefined;
    }
  }

  #checkPolicies({ policies }: ClassicBalancer, names: readonly string[]): void {
    const missing = names.find((name) => !policies.includes(name));
    if (missing !== undefined) throw refusal("PolicyNotFound", `There is no policy with name ${missing}`);
  }

  answer(action: string, params: Params): object | undefined {
    const names = list(params, "LoadBalancerNames");
    switch (action) {
      case "DescribeLoadBalancers": {
        const all = names.length > 0 ? names.map((name) => this.existing(name)) : this.all();
        return { LoadBalancerDescriptions: all.map((one) => viewOf(one, this.#vpc.vpc)) };
      }
      case "CreateLoadBalancer":
        return this.#create(params);
      case "DeleteLoadBalancer":
        this.#all.delete(text(params, "LoadBalancerName"));
        return {};
      case "DescribeTags": {
        const described = names.map((name) => ({
          LoadBalancerName: name,
          Tags: [...this.existing(name).tags].map(([Key, Value]) => ({ Key, Value })),
        }));
        return { TagDescriptions: described };
      }
      case "AddTags":
        for (const name of names)
          for (const [key, value] of tagMap(params)) this.existing(name).tags.set(key, value);
        return {};
      default:
        return this.#change(action, params, this.existing(text(params, "LoadBalancerName")));
    }
  }
}

const dnsName = ({ name, scheme }: ClassicBalancer): string =>
  `${scheme === "internal" ? "internal-" : ""}${name}-1.us-west-2.elb.amazonaws.com`;

function viewOf(balancer: ClassicBalancer, vpc: string): object {
  const { name, scheme, subnets, groups, listeners, instances, check, policies, backends } = balancer;
  return {
    LoadBalancerName: name,
    DNSName: dnsName(balancer),
    VPCId: vpc,
    Scheme: scheme,
    Subnets: subnets,
    SecurityGroups: groups,
    Instances: instances.map((InstanceId) => ({ InstanceId })),
    HealthCheck: check,
    Policies: { OtherPolicies: policies },
    ListenerDescriptions: listeners.map(({ view, policies: names }) => ({
      Listener: view,
      PolicyNames: names,
    })),
    BackendServerDescriptions: [...backends].flatMap(([InstancePort, PolicyNames]) =>
      PolicyNames.length > 0 ? [{ InstancePort, PolicyNames }] : [],
    ),
  };
}

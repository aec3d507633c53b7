// Network load balancers of the simulated region, with their listeners and target groups.

import { list, type Params, records, refusal, tagMap, text } from "./balancing-parameters.ts";
import type { Vpc } from "./classic-balancers.ts";

interface Mapping {
  readonly subnet: string;
  readonly zone: string;
  readonly allocation: string;
  readonly address: string;
}

export interface NetworkBalancer {
  readonly arn: string;
  readonly name: string;
  readonly scheme: string;
  readonly ipType: string;
  readonly mappings: readonly Mapping[];
  groups: readonly string[];
  state: string;
  readonly attributes: Map<string, string>;
  readonly tags: Map<string, string>;
}

export interface NetworkListener {
  readonly arn: string;
  readonly balancer: string;
  port: string;
  protocol: string;
  policy: string | undefined;
  certificate: string | undefined;
  group: string;
  readonly tags: Map<string, string>;
}

export interface TargetGroup {
  readonly arn: string;
  readonly name: string;
  readonly protocol: string;
  readonly port: string;
  check: Readonly<Record<string, string>>;
  targets: readonly { readonly id: string; readonly port: string; readonly isDraining: boolean }[];
  readonly attributes: Map<string, string>;
  readonly tags: Map<string, string>;
}

const checkNames = [
  ...["HealthCheckProtocol", "HealthCheckPort", "HealthCheckPath", "HealthCheckIntervalSeconds"],
  ...["HealthCheckTimeoutSeconds", "HealthyThresholdCount", "UnhealthyThresholdCount"],
];
const checkIn = (params: Params): Readonly<Record<string, string>> =>
  Object.fromEntries(
    checkNames.flatMap((name) => (text(params, name) === "" ? [] : [[name, text(params, name)]])),
  );

const canForward: Readonly<Record<string, readonly string[]>> = {
  TCP: ["TCP"],
  UDP: ["UDP"],
  TCP_UDP: ["TCP_UDP"],
  TLS: ["TCP", "TLS"],
};
const notFound = (kind: string, id: string) =>
  refusal(`${kind}NotFound`, `One or more ${kind} not found: ${id}`);

export class NetworkBalancers {
  readonly #vpc: Vpc;
  readonly #balancers = new Map<string, NetworkBalancer>();
  readonly #listeners = new Map<string, NetworkListener>();
  readonly #targetGroups = new Map<string, TargetGroup>();
  #count = 0;
  readonly unknownCertificates = new Set<string>();
  /** The state of new load balancers. */
  newState = "active";
  /** Health check result of a target that is not draining. */
  health: (id: string) => {
    readonly State: string;
    readonly Reason?: string;
    readonly Description?: string;
  } = () => ({ State: "initial" });
  /** Targets that leave are shown as draining. */
  drains = false;

  constructor(vpc: Vpc) {
    this.#vpc = vpc;
  }

  all = (): readonly NetworkBalancer[] => [...this.#balancers.values()];
  listeners = (): readonly NetworkListener[] => [...this.#listeners.values()];
  targetGroups = (): readonly TargetGroup[] => [...this.#targetGroups.values()];

  #arn(kind: string, name: string): string {
    this.#count += 1;
    return `arn:aws:elasticloadbalancing:us-west-2:123456789012:${kind}/${name}/${this.#count.toString(16).padStart(16, "0")}`;
  }

  #balancer(arn: string): NetworkBalancer {
    const found = this.#balancers.get(arn) ?? this.all().find(({ name }) => name === arn);
    if (found === undefined) throw notFound("LoadBalancer", arn);
    return found;
  }

  #group(arn: string): TargetGroup {
    const found = this.#targetGroups.get(arn);
    if (found === undefined) throw notFound("TargetGroup", arn);
    return found;
  }

  #listener(arn: string): NetworkListener {
    const found = this.#listeners.get(arn);
    if (found === undefined) throw notFound("Listener", arn);
    return found;
  }

  #createBalancer(params: Params): NetworkBalancer {
    const name = text(params, "Name");
    if (this.all().some((one) => one.name === name))
      throw refusal(
        "DuplicateLoadBalancerName",
        `A load balancer with the same name '${name}' exists, but with different settings`,
      );
    const mappings = records(params, "SubnetMappings").map((one): Mapping => {
      const subnet = text(one, "SubnetId");
      const zone = this.#vpc.zoneOf(subnet);
      if (zone === undefined) throw refusal("SubnetNotFound", `The subnet ID '${subnet}' is not valid`);
      return {
        subnet,
        zone,
        allocation: text(one, "AllocationId"),
        address: text(one, "PrivateIPv4Address"),
      };
    });
    const groups = list(params, "SecurityGroups");
    if (groups.some((id) => !this.#vpc.hasGroup(id)))
      throw refusal("InvalidSecurityGroup", `One or more security groups are invalid: ${groups.join()}`);
    const balancer = {
      arn: this.#arn("loadbalancer/net", name),
      name,
      scheme: text(params, "Scheme") || "internet-facing",
      mappings,
      groups,
      ipType: text(params, "IpAddressType") || "ipv4",
      state: this.newState,
      tags: tagMap(params),
      attributes: new Map([
        ["load_balancing.cross_zone.enabled", "false"],
        ["access_logs.s3.enabled", "false"],
        ["access_logs.s3.bucket", ""],
        ["access_logs.s3.prefix", ""],
        ["deletion_protection.enabled", "false"],
      ]),
    };
    this.#balancers.set(balancer.arn, balancer);
    return balancer;
  }

  #createTargetGroup(params: Params): TargetGroup {
    const name = text(params, "Name");
    if (this.targetGroups().some((one) => one.name === name))
      throw refusal(
        "DuplicateTargetGroupName",
        `A target group with the same name '${name}' exists, but with different settings`,
      );
    const protocol = text(params, "Protocol");
    const group: TargetGroup = {
      arn: this.#arn("targetgroup", name),
      name,
      protocol,
      port: text(params, "Port"),
      targets: [],
      check: { HealthCheckTimeoutSeconds: "10", ...checkIn(params) },
      attributes: new Map([
        ["deregistration_delay.timeout_seconds", "300"],
        ["preserve_client_ip.enabled", "true"],
        ["proxy_protocol_v2.enabled", "false"],
      ]),
      tags: tagMap(params),
    };
    this.#targetGroups.set(group.arn, group);
    return group;
  }

  #set(listener: NetworkListener, params: Params): NetworkListener {
    const certificate = text(records(params, "Certificates")[0] ?? {}, "CertificateArn") || undefined;
    const group = text(records(params, "DefaultActions")[0] ?? {}, "TargetGroupArn") || listener.group;
    const [port, protocol] = [
      text(params, "Port") || listener.port,
      text(params, "Protocol") || listener.protocol,
    ];
    if (certificate !== undefined && this.unknownCertificates.has(certificate))
      throw refusal("CertificateNotFound", `Certificate ARN '${certificate}' is not valid`);
    if (protocol === "TLS" && (certificate ?? listener.certificate) === undefined)
      throw refusal("ValidationError", "A certificate must be specified for TLS listeners");
    if (canForward[protocol]?.includes(this.#group(group).protocol) !== true)
      throw refusal(
        "InvalidConfigurationRequest",
        `Listener protocol '${protocol}' is not supported with a target group with the protocol '${this.#group(group).protocol}'`,
      );
    const same = this.listeners().find(
      (one) => one.arn !== listener.arn && one.balancer === listener.balancer && one.port === port,
    );
    if (same !== undefined)
      throw refusal("DuplicateListener", "A listener already exists on this port for this load balancer");
    const isTLS = protocol === "TLS";
    return Object.assign(listener, {
      port,
      protocol,
      group,
      certificate: isTLS ? (certificate ?? listener.certificate) : undefined,
      policy: isTLS ? text(params, "SslPolicy") || listener.policy || "ELBSecurityPolicy-2016-08" : undefined,
    });
  }

  #attachedTo({ arn }: TargetGroup): readonly string[] {
    return [...new Set(this.listeners().flatMap(({ group, balancer }) => (group === arn ? [balancer] : [])))];
  }

  #register(params: Params): void {
    const group = this.#group(text(params, "TargetGroupArn"));
    const added = records(params, "Targets").map((one) => ({
      id: text(one, "Id"),
      port: text(one, "Port") || group.port,
      isDraining: false,
    }));
    const refused = added.filter(({ id }) => !this.#vpc.isRunning(id)).map(({ id }) => `'${id}'`);
    if (refused.length > 0)
      throw refusal(
        "InvalidTarget",
        `The following targets are not in a running state and cannot be registered: ${refused.join(", ")}`,
      );
    const isNew = (one: TargetGroup["targets"][number]) =>
      !added.some(({ id, port }) => id === one.id && port === one.port);
    group.targets = [...group.targets.filter(isNew), ...added];
  }

  #deregister(params: Params): void {
    const group = this.#group(text(params, "TargetGroupArn"));
    const gone = records(params, "Targets");
    const isGone = ({ id, port }: TargetGroup["targets"][number]) =>
      gone.some((one) => text(one, "Id") === id && (text(one, "Port") || group.port) === port);
    group.targets = this.drains
      ? group.targets.map((one) => (isGone(one) ? { ...one, isDraining: true } : one))
      : group.targets.filter((one) => !isGone(one));
  }

  #tagged(arn: string): Map<string, string> {
    const found = this.#balancers.get(arn) ?? this.#targetGroups.get(arn) ?? this.#listeners.get(arn);
    if (found === undefined)
      throw notFound(arn.includes(":targetgroup/") ? "TargetGroup" : "LoadBalancer", arn);
    return found.tags;
  }

  answer(action: string, params: Params): object | undefined {
    const [balancer, group] = [text(params, "LoadBalancerArn"), text(params, "TargetGroupArn")];
    const attributes = (all: ReadonlyMap<string, string>) => ({
      Attributes: [...all].map(([Key, Value]) => ({ Key, Value })),
    });
    const setAttributes = (all: Map<string, string>) => {
      for (const one of records(params, "Attributes")) all.set(text(one, "Key"), text(one, "Value"));
      return attributes(all);
    };
    switch (action) {
      case "DescribeLoadBalancers": {
        const wanted = [...list(params, "Names"), ...list(params, "LoadBalancerArns")];
        return {
          LoadBalancers: (wanted.length > 0 ? wanted.map((one) => this.#balancer(one)) : this.all()).map(
            (one) => this.#viewOf(one),
          ),
        };
      }
      case "CreateLoadBalancer":
        return { LoadBalancers: [this.#viewOf(this.#createBalancer(params))] };
      case "DeleteLoadBalancer":
        this.#balancers.delete(balancer);
        for (const one of this.listeners()) if (one.balancer === balancer) this.#listeners.delete(one.arn);
        return {};
      case "SetSecurityGroups":
        if (this.#balancer(balancer).groups.length === 0)
          throw refusal(
            "InvalidConfigurationRequest",
            "You cannot set security groups on a load balancer that was created without",
          );
        this.#balancer(balancer).groups = list(params, "SecurityGroups");
        return {};
      case "DescribeLoadBalancerAttributes":
        return attributes(this.#balancer(balancer).attributes);
      case "ModifyLoadBalancerAttributes":
        return setAttributes(this.#balancer(balancer).attributes);
      case "DescribeTags":
        return {
          TagDescriptions: list(params, "ResourceArns").map((arn) => ({
            ResourceArn: arn,
            Tags: [...this.#tagged(arn)].map(([Key, Value]) => ({ Key, Value })),
          })),
        };
      case "AddTags":
        for (const arn of list(params, "ResourceArns"))
          for (const [key, value] of tagMap(params)) this.#tagged(arn).set(key, value);
        return {};
      case "DescribeListeners":
        return {
          Listeners: this.listeners()
            .filter((one) => one.balancer === this.#balancer(balancer).arn)
            .map(viewOfListener),
        };
      case "CreateListener": {
        this.#balancer(balancer);
        const fresh = {
          arn: this.#arn("listener/net", "x"),
          balancer,
          port: "",
          protocol: "",
          policy: undefined,
          certificate: undefined,
          group: "",
        };
        const listener = this.#set({ ...fresh, tags: tagMap(params) }, params);
        this.#listeners.set(listener.arn, listener);
        return { Listeners: [viewOfListener(listener)] };
      }
      case "ModifyListener":
        return {
          Listeners: [viewOfListener(this.#set(this.#listener(text(params, "ListenerArn")), params))],
        };
      case "DeleteListener":
        this.#listeners.delete(this.#listener(text(params, "ListenerArn")).arn);
        return {};
      case "DescribeTargetGroups": {
        const arns = list(params, "TargetGroupArns");
        const found = this.targetGroups().filter(
          (one) =>
            (balancer === "" || this.#attachedTo(one).includes(balancer)) &&
            (arns.length === 0 || arns.includes(one.arn)),
        );
        return { TargetGroups: found.map((one) => this.#viewOfGroup(one)) };
      }
      case "CreateTargetGroup":
        return { TargetGroups: [this.#viewOfGroup(this.#createTargetGroup(params))] };
      case "ModifyTargetGroup":
        this.#group(group).check = { ...this.#group(group).check, ...checkIn(params) };
        return {};
      case "DeleteTargetGroup": {
        const found = this.#targetGroups.get(group);
        if (found !== undefined && this.#attachedTo(found).length > 0)
          throw refusal(
            "ResourceInUse",
            `Target group '${group}' is currently in use by a listener or a rule`,
          );
        this.#targetGroups.delete(group);
        return {};
      }
      case "DescribeTargetGroupAttributes":
        return attributes(this.#group(group).attributes);
      case "ModifyTargetGroupAttributes":
        return setAttributes(this.#group(group).attributes);
      case "DescribeTargetHealth":
        return {
          TargetHealthDescriptions: this.#group(group).targets.map(({ id, port, isDraining }) => ({
            Target: { Id: id, Port: port },
            TargetHealth: isDraining
              ? { State: "draining", Reason: "Target.DeregistrationInProgress" }
              : this.health(id),
          })),
        };
      case "RegisterTargets":
        this.#register(params);
        return {};
      case "DeregisterTargets":
        this.#deregister(params);
        return {};
      default:
        return undefined;
    }
  }

  #viewOf({ arn, name, scheme, ipType, mappings, groups, state }: NetworkBalancer): object {
    return {
      LoadBalancerArn: arn,
      LoadBalancerName: name,
      Type: "network",
      Scheme: scheme,
      IpAddressType: ipType,
      VpcId: this.#vpc.vpc,
      DNSName: `${name}-1.elb.us-west-2.amazonaws.com`,
      State: { Code: state },
      SecurityGroups: groups,
      AvailabilityZones: mappings.map(({ subnet, zone, allocation, address }) => ({
        ZoneName: zone,
        SubnetId: subnet,
        LoadBalancerAddresses: [
          { AllocationId: allocation || undefined, PrivateIPv4Address: address || undefined },
        ],
      })),
    };
  }

  #viewOfGroup(group: TargetGroup): object {
    return {
      TargetGroupArn: group.arn,
      TargetGroupName: group.name,
      Protocol: group.protocol,
      Port: group.port,
      TargetType: "instance",
      VpcId: this.#vpc.vpc,
      LoadBalancerArns: this.#attachedTo(group),
      ...group.check,
    };
  }
}

function viewOfListener({
  arn,
  balancer,
  port,
  protocol,
  policy,
  certificate,
  group,
}: NetworkListener): object {
  return {
    ListenerArn: arn,
    LoadBalancerArn: balancer,
    Port: port,
    Protocol: protocol,
    SslPolicy: policy,
    Certificates: certificate === undefined ? [] : [{ CertificateArn: certificate }],
    DefaultActions: [{ Type: "forward", TargetGroupArn: group }],
  };
}

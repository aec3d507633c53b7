// The desired state of a classic load balancer in terms of Elastic Load Balancing. Pure.

import type { ClassicAttributes, ClassicHealthCheck, ClassicListener } from "../api/elb.ts";
import { type Desired, hasTLS, type PlanInput, rangesOf, servedPorts } from "./balancer.ts";
import { classicCheck } from "./health-check.ts";
import { type Rule, tooLarge, unique } from "./rules.ts";

export interface ClassicSpec {
  readonly listeners: readonly ClassicListener[];
  readonly check: ClassicHealthCheck;
  readonly attributes: ClassicAttributes;
  /** The rules of the security group that Fairlead creates. */
  readonly rules: readonly Rule[];
  readonly usesProxyProtocol: boolean;
  readonly tlsPolicy: string | undefined;
}

function listenerOf(desired: Desired, port: ReturnType<typeof servedPorts>[number]): ClassicListener {
  const { "backend-protocol": backend, "ssl-cert": [certificate] = [] } = desired.settings;
  const ports = { LoadBalancerPort: port.port, InstancePort: port.nodePort };
  if (certificate !== undefined && hasTLS(desired, port)) {
    const front = backend === "http" || backend === "https" ? "https" : "ssl";
    return { ...ports, Protocol: front, InstanceProtocol: backend ?? "tcp", SSLCertificateId: certificate };
  }
  const plain = backend === "http" ? "http" : "tcp";
  return { ...ports, Protocol: plain, InstanceProtocol: plain };
}

function attributesOf({ settings }: Desired): ClassicAttributes {
  const interval = settings["access-log-emit-interval"];
  const bucket = settings["access-log-s3-bucket-name"];
  const folder = settings["access-log-s3-bucket-prefix"];
  const timeout = settings["connection-draining-timeout"];
  return {
    AccessLog: {
      Enabled: settings["access-log-enabled"],
      ...(interval !== undefined && { EmitInterval: Number(interval) }),
      ...(bucket !== undefined && { S3BucketName: bucket }),
      ...(folder !== undefined && { S3BucketPrefix: folder }),
    },
    ConnectionDraining: {
      Enabled: settings["connection-draining-enabled"],
      ...(timeout !== undefined && { Timeout: timeout }),
    },
    ConnectionSettings: { IdleTimeout: settings["connection-idle-timeout"] },
    CrossZoneLoadBalancing: { Enabled: settings["cross-zone-load-balancing-enabled"] },
  };
}

export function classicSpec(desired: Desired, { operator }: PlanInput): ClassicSpec {
  const { settings } = desired;
  const ports = servedPorts(desired).filter(({ protocol }) => protocol === "TCP");
  const ranges = rangesOf(desired, "IPv4");
  return {
    listeners: ports.map((port) => listenerOf(desired, port)),
    check: classicCheck(desired, ports[0]?.nodePort ?? 0, operator),
    attributes: attributesOf(desired),
    rules: unique([
      ...ports.flatMap(({ port }) => ranges.map((peer) => ({ protocol: "tcp", from: port, to: port, peer }))),
      ...ranges.map((peer) => ({ ...tooLarge, peer })),
    ]),
    usesProxyProtocol: settings["proxy-protocol"] === "*",
    tlsPolicy: settings["ssl-negotiation-policy"],
  };
}

// A service as the server stores it: a load balancer or an external service.

export type ServiceType = "loadBalancerService" | "externalService";

export interface PortRule {
  readonly sourcePort: number;
  readonly targetPort: number | null;
  readonly protocol: string;
  readonly serviceId: string | null;
  readonly selector: string | null;
  readonly backendName: string | null;
  readonly hostname?: string | null;
  readonly path?: string | null;
  readonly priority?: number | null;
}

export interface LaunchConfig {
  readonly imageUuid: string;
  readonly ports: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
  readonly requestedHostId?: string | null;
}

export interface LbConfig {
  readonly portRules: readonly PortRule[];
  readonly certificateIds: readonly string[];
  readonly defaultCertificateId: string | null;
  readonly config: string | null;
  readonly stickinessPolicy: Readonly<Record<string, unknown>> | null;
}

/** What clients can set. */
export interface ServiceFields {
  readonly name: string;
  readonly stackId: string;
  readonly scale: number;
  readonly launchConfig: LaunchConfig | null;
  readonly lbConfig: LbConfig | null;
  readonly externalIpAddresses: readonly string[] | null;
  /** Of an external service, instead of addresses. */
  readonly hostname?: string | null;
  readonly healthCheck: Readonly<Record<string, unknown>> | null;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly startOnCreate: boolean;
}

export interface Service extends ServiceFields {
  readonly id: string;
  readonly type: ServiceType;
  readonly state: string;
  readonly removed: string | null;
  /** Ids of the services that it forwards to: of its rules, or as the last `setservicelinks` set them. */
  readonly serviceLinks: readonly string[];
  readonly transitioning: "yes" | "no" | "error";
  readonly transitioningMessage: string | null;
  /** The ports of its containers. A change of only the bind address does not reach them. */
  readonly boundPorts: readonly string[];
  /** When it became active, for its endpoints. */
  readonly activeSince: number | null;
  readonly next: { readonly at: number; readonly state: string } | null;
}

// The objects of the Cattle API, with the fields in use.

export interface Resource {
  readonly id: string;
  readonly state?: string;
  /** When the removal began. */
  readonly removed?: string | null;
  readonly links?: Readonly<Record<string, string>>;
  /** What can be done in this state, with the URL for it. */
  readonly actions?: Readonly<Record<string, string>>;
  readonly transitioning?: "yes" | "no" | "error" | null;
  readonly transitioningMessage?: string | null;
}

export interface ApiAddress extends Resource {
  readonly address?: string | null;
}

export interface ApiHost extends Resource {
  readonly uuid: string;
  readonly name?: string | null;
  readonly hostname?: string | null;
  readonly agentState?: string | null;
  readonly agentIpAddress?: string | null;
  readonly labels?: Readonly<Record<string, string>> | null;
  /** Only with `include=ipAddresses`. */
  readonly ipAddresses?: readonly ApiAddress[] | null;
}

export interface ApiStack extends Resource {
  readonly name: string;
}

export interface ApiSetting {
  readonly id: string;
  readonly name?: string | null;
  readonly value?: string | null;
  readonly activeValue?: string | null;
}

export interface ApiCertificate extends Resource {
  readonly name?: string | null;
}

/** Fields that other clients set stay: all of `metadata` is sent again. */
export type Metadata = Readonly<Record<string, unknown>>;

export interface PortRule {
  readonly sourcePort: number;
  readonly targetPort?: number | null;
  readonly protocol?: string | null;
  readonly serviceId?: string | null;
  readonly selector?: string | null;
  readonly hostname?: string | null;
  readonly path?: string | null;
  readonly priority?: number | null;
  readonly backendName?: string | null;
}

export interface StickinessPolicy {
  readonly name?: string | null;
  readonly cookie?: string | null;
  readonly mode?: string | null;
  readonly indirect?: boolean | null;
  readonly nocache?: boolean | null;
}

export interface LbConfig {
  readonly portRules?: readonly PortRule[] | null;
  readonly certificateIds?: readonly string[] | null;
  readonly defaultCertificateId?: string | null;
  readonly config?: string | null;
  readonly stickinessPolicy?: StickinessPolicy | null;
}

export interface PublicEndpoint {
  readonly ipAddress?: string | null;
  readonly port?: number | null;
}

/** The server replaces all of it, so all that was read is sent again. */
export interface LaunchConfig {
  readonly imageUuid?: string | null;
  /** Such as `80:80/tcp` or `192.0.2.1:80:80/tcp`. */
  readonly ports?: readonly string[] | null;
  readonly labels?: Readonly<Record<string, string>> | null;
  readonly requestedHostId?: string | null;
}

export interface ApiLoadBalancer extends Resource {
  readonly name: string;
  readonly stackId: string;
  readonly state: string;
  readonly scale?: number | null;
  readonly healthState?: string | null;
  readonly metadata?: Metadata | null;
  readonly launchConfig?: LaunchConfig | null;
  /** Ids of the services that the server counts as used by it, by name. */
  readonly linkedServices?: Readonly<Record<string, string>> | null;
  readonly lbConfig?: LbConfig | null;
  readonly publicEndpoints?: readonly PublicEndpoint[] | null;
}

export interface HealthCheck {
  readonly port: number;
  readonly requestLine?: string | null;
  readonly interval?: number | null;
  readonly responseTimeout?: number | null;
  readonly healthyThreshold?: number | null;
  readonly unhealthyThreshold?: number | null;
}

/** Of any kind. */
export interface ApiService extends Resource {
  readonly type: string;
  readonly name: string;
  readonly stackId: string;
}

export interface ApiExternalService extends Resource {
  readonly name: string;
  readonly stackId: string;
  readonly state: string;
  readonly externalIpAddresses?: readonly string[] | null;
  /** Instead of addresses. */
  readonly hostname?: string | null;
  readonly healthCheck?: HealthCheck | null;
  readonly metadata?: Metadata | null;
}

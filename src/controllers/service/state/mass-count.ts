// What the mass limit of load balancers compares.

export interface MassCount {
  /** Load balancers that exist or existed. */
  readonly managed: number;
  /** Absent from the cloud. */
  readonly missing: number;
  /** Services that vanished from the API. Several may share a load balancer. */
  readonly vanished: number;
  /** Removed or created again within the window. */
  readonly recent: number;
}

export interface MassHold extends MassCount {
  readonly allowed: number;
  readonly howToRelease: string;
}

// Which one of several load balancers with the mark of a group is managed.

export interface ManagedBalancer {
  readonly name: string;
  /** The part of the cloud that lists it, such as a region: names may repeat in another one. Undefined before it is listed. */
  readonly part?: string | undefined;
  /** When the first listing began that shows only another one with the mark of the group (monotonic). */
  readonly missingSince?: number;
}

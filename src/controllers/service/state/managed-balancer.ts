// Which one of several load balancers with the mark of a group is managed.

export interface ManagedBalancer {
  readonly name: string;
  /** When the first listing began that shows only another one with the mark of the group (monotonic). */
  readonly missingSince?: number;
}

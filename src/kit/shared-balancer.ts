// A shared load balancer as one of its Services sees it: the Service's own listeners, the owners of other listeners, and whether the
// load balancer is deleted with the Service. Pure.

/** A load balancer that several Services may have. A mark names a Service in the cloud. */
export interface SharedBalancer<L> {
  /** The mark of the Service that looks at it. Undefined: the Service may join. */
  readonly mark: string | undefined;
  /** The marks of all Services that have it. */
  readonly marks: readonly string[];
  readonly listeners: readonly L[];
  /** The marks that cover a listener. Empty if it was not created for a Service. */
  readonly marksOf: (listener: L) => readonly string[];
  /** Whether two marks name the same Service, for example one that was created again. If unset, compares for equality. */
  readonly isSame?: (mark: string, other: string) => boolean;
}

/** A listener that another Service has; without marks, a listener of another tool, such as Terraform. */
export interface TakenListener<L> {
  readonly listener: L;
  readonly marks: readonly string[];
}

/** A Service's view of its load balancer. */
export interface BalancerView<L> {
  readonly own: readonly L[];
  readonly taken: readonly TakenListener<L>[];
  /** The marks of the other Services. */
  readonly others: readonly string[];
  /** True if only this Service needs the load balancer, which then ends with it. Leftovers of an unmarked Service do not count. */
  readonly isLast: boolean;
}

/**
 * The load balancer as one of its Services sees it.
 *
 * @example
 * const { own, taken, isLast } = viewOf({ mark, marks, listeners, marksOf: ({ tags }) => tags.filter(isMark) });
 */
export function viewOf<L>(balancer: SharedBalancer<L>): BalancerView<L> {
  const { mark, marks, listeners, marksOf, isSame } = balancer;
  const isOwn = (other: string): boolean =>
    mark !== undefined && (isSame === undefined ? other === mark : isSame(other, mark));
  const all = listeners.map((listener) => ({ listener, marks: marksOf(listener) }));
  const taken = all.filter((one) => !one.marks.some(isOwn));
  const others = marks.filter((other) => !isOwn(other));
  return {
    own: all.flatMap((one) => (one.marks.some(isOwn) ? one.listener : [])),
    taken,
    others,
    isLast: others.length === 0 && taken.every((one) => one.marks.length > 0),
  };
}

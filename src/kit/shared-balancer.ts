// What one of several Services sees of a load balancer that they share: which listeners are its own, who has the others, what remains when
// it leaves, which targets it may remove, and which settings it may change. Pure.

/** A load balancer that several Services may have. A mark names a Service in the cloud. */
export interface SharedBalancer<L> {
  /** The mark of the Service that looks at it. Undefined: the Service may join. */
  readonly mark: string | undefined;
  /** The marks of all Services that have it. */
  readonly marks: readonly string[];
  readonly listeners: readonly L[];
  /** The marks that cover a listener. Empty: something else than a Service has put it there. */
  readonly marksOf: (listener: L) => readonly string[];
  /** Whether two marks name the same Service, for example one that was created again. Absent: if they are equal. */
  readonly isSame?: (mark: string, other: string) => boolean;
}

/** A listener that another Service has; without marks, it has been put there by something else, such as Terraform. */
export interface TakenListener<L> {
  readonly listener: L;
  readonly marks: readonly string[];
}

/** What a Service sees of its load balancer. */
export interface BalancerView<L> {
  readonly own: readonly L[];
  readonly taken: readonly TakenListener<L>[];
  /** The marks of the other Services. */
  readonly others: readonly string[];
  /** Nothing else needs it, so it ends when the Service leaves. What a Service without a mark has left there does not count. */
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

/**
 * Whether a Service may remove a target that it does not want: the targets of a load balancer are the union of those that its Services
 * want. `others`: what each of the other Services wants, undefined while that is not known.
 */
export function isRemovable(target: string, others: Iterable<ReadonlySet<string> | undefined>): boolean {
  for (const wanted of others) if (wanted === undefined || wanted.has(target)) return false;
  return true;
}

/** Values of settings of a whole load balancer, by name. */
export type SettingsOfAll = Readonly<Record<string, unknown>>;

/** A setting of the whole load balancer that a Service cannot change alone. */
export interface Contradiction {
  readonly name: string;
  readonly wanted: unknown;
  readonly current: unknown;
  /** The marks of the Services that do not want the same. Empty: something else than Services uses the load balancer. */
  readonly whose: readonly string[];
}

/**
 * The settings that differ from those of the load balancer while not all of its Services want the same. A Service that sets nothing has
 * what the load balancer has, and does not agree to a change. What is not known of the load balancer contradicts nothing.
 */
export function contradictionsIn(
  wanted: SettingsOfAll,
  current: SettingsOfAll,
  others: ReadonlyMap<string, SettingsOfAll | undefined>,
  hasStrangers: boolean,
): readonly Contradiction[] {
  return Object.entries(wanted).flatMap(([name, value]) => {
    const is = current[name];
    if (value === undefined || is === undefined || is === value) return [];
    const whose = [...others].flatMap(([mark, other]) => (other?.[name] === value ? [] : mark));
    return whose.length > 0 || hasStrangers ? [{ name, wanted: value, current: is, whose }] : [];
  });
}

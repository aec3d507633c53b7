// Compares desired and observed lists by key to find what to create, update and remove. The planner chooses the order of
// changes. Pure.

/** How `diffByKey` identifies and compares items. */
export interface DiffRules<D, O> {
  keyOfDesired(desired: D): string;
  keyOfObserved(observed: O): string;
  /** Whether the observed item needs no update. */
  isSame(desired: D, observed: O): boolean;
}

/** The changes that turn the observed list into the desired list. */
export interface Diff<D, O> {
  readonly create: readonly D[];
  readonly update: readonly { readonly desired: D; readonly observed: O }[];
  readonly remove: readonly O[];
}

/**
 * The difference between two lists, in list order. Of duplicate desired keys, the first wins. Of duplicate observed keys,
 * the first item that needs no update stays (or else the first is updated), and the rest are removed.
 *
 * @example
 * diffByKey(rules, observedRules, {
 *   keyOfDesired: ({ port }) => String(port),
 *   keyOfObserved: ({ port }) => String(port),
 *   isSame: (desired, observed) => desired.target === observed.target,
 * })
 */
export function diffByKey<D, O>(
  desired: readonly D[],
  observed: readonly O[],
  rules: DiffRules<NoInfer<D>, NoInfer<O>>,
): Diff<D, O> {
  const observedByKey = new Map<string, O[]>();
  for (const item of observed) {
    const key = rules.keyOfObserved(item);
    const same = observedByKey.get(key);
    if (same === undefined) observedByKey.set(key, [item]);
    else same.push(item);
  }

  const seen = new Set<string>();
  const kept = new Set<O>();
  const create: D[] = [];
  const update: { desired: D; observed: O }[] = [];
  for (const item of desired) {
    const key = rules.keyOfDesired(item);
    if (seen.has(key)) continue;
    seen.add(key);
    const candidates = observedByKey.get(key);
    const first = candidates?.[0];
    if (candidates === undefined || first === undefined) {
      create.push(item);
      continue;
    }
    const unchanged = candidates.find((candidate) => rules.isSame(item, candidate));
    kept.add(unchanged ?? first);
    if (unchanged === undefined) update.push({ desired: item, observed: first });
  }
  return { create, update, remove: observed.filter((item) => !kept.has(item)) };
}

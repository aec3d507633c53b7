// What has to be made, changed and removed so that what is there becomes what is wanted. It decides nothing about order
// or about what a change costs: planners do.

export interface DiffRules<D, O> {
  keyOfDesired(desired: D): string;
  keyOfObserved(observed: O): string;
  /** True when the observed one may stay as it is. */
  isSame(desired: D, observed: O): boolean;
}

export interface Diff<D, O> {
  readonly create: readonly D[];
  readonly update: readonly { readonly desired: D; readonly observed: O }[];
  readonly remove: readonly O[];
}

/**
 * Each list keeps its order. Of several wishes with one key the first counts; of several observed ones the first that is
 * right stays (else the first is changed) and the others go.
 */
export function diffByKey<D, O>(
  desired: readonly D[],
  observed: readonly O[],
  rules: DiffRules<D, O>,
): Diff<D, O> {
  const there = new Map<string, O[]>();
  for (const item of observed) {
    const key = rules.keyOfObserved(item);
    const same = there.get(key);
    if (same === undefined) there.set(key, [item]);
    else same.push(item);
  }

  const seen = new Set<string>();
  const stays = new Set<O>();
  const create: D[] = [];
  const update: { desired: D; observed: O }[] = [];
  for (const wanted of desired) {
    const key = rules.keyOfDesired(wanted);
    if (seen.has(key)) continue;
    seen.add(key);
    const candidates = there.get(key);
    const first = candidates?.[0];
    if (candidates === undefined || first === undefined) {
      create.push(wanted);
      continue;
    }
    const right = candidates.find((candidate) => rules.isSame(wanted, candidate));
    stays.add(right ?? first);
    if (right === undefined) update.push({ desired: wanted, observed: first });
  }
  return { create, update, remove: observed.filter((item) => !stays.has(item)) };
}

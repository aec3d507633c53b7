// Plans the taints that a Node gets from labels of its machine (--node-taints-from). All taints whose keys begin with the prefix
// belong to the cloud. No annotation records them, because a kubelet may write annotations of its Node but must not remove its
// taints. Pure.

import { isLabel } from "../../../core/labels.ts";
import type { Problem } from "../../../core/problem.ts";
import type { Taint } from "../../../kube/objects.ts";
import { leavingTaints } from "../../well-known.ts";
import { cloudTaintsSkipped } from "../texts.ts";
import { type CloudLabelInput, isOpen, maxCloudLabels } from "./cloud-labels.ts";

export interface TaintChanges {
  readonly set: readonly Taint[];
  /** The taints to remove, by key and effect. Contains entries of `set` that replace a different value. */
  readonly removed: readonly Taint[];
}

export interface CloudTaintInput extends Pick<CloudLabelInput, "instance" | "ownPrefixes"> {
  readonly taints: readonly Taint[];
  readonly taintsFrom: string | undefined;
}

/** Only these effects are allowed, because cloud users must not evict pods. Hetzner's labels cannot contain a colon. */
const valuePattern = /^(?:(.*)[.:])?(NoSchedule|PreferNoSchedule)$/;

export const isSameTaint = (one: Taint, other: Taint): boolean =>
  one.key === other.key && one.effect === other.effect;

export function planCloudTaints(input: CloudTaintInput): {
  readonly changes: TaintChanges | undefined;
  readonly problems: readonly Problem[];
} {
  const { taints, taintsFrom: prefix, instance } = input;
  if (prefix === undefined || instance.cloudLabels === undefined) return { changes: undefined, problems: [] };
  const isOwned = (key: string): boolean =>
    key.startsWith(prefix) && isOpen(key, input) && !(leavingTaints as readonly string[]).includes(key);
  const named = Object.entries(instance.cloudLabels)
    .filter(([key]) => key.startsWith(prefix))
    .toSorted(([one], [other]) => (one < other ? -1 : 1));
  const valid = named.flatMap(([key, text]): readonly Taint[] => {
    const [, value = "", effect] = valuePattern.exec(text) ?? [];
    if (effect === undefined || !isOwned(key) || !isLabel(key, value)) return [];
    return [{ key, effect, ...(value !== "" && { value }) }];
  });
  const desired = valid.slice(0, maxCloudLabels);
  const set = desired.filter(
    (one) => !taints.some((has) => isSameTaint(has, one) && (has.value ?? "") === (one.value ?? "")),
  );
  const removed = taints.filter(
    (has) =>
      isOwned(has.key) &&
      valuePattern.test(has.effect) &&
      (set.some((one) => isSameTaint(has, one)) || !desired.some((one) => isSameTaint(has, one))),
  );
  const skipped = named.filter(([name]) => !desired.some(({ key }) => key === name)).map(([key]) => key);
  return {
    changes: set.length + removed.length === 0 ? undefined : { set, removed },
    problems: skipped.length === 0 ? [] : [cloudTaintsSkipped(skipped)],
  };
}

export const taintText = ({ key, value = "", effect }: Taint): string =>
  `${key}${value === "" ? "" : `=${value}`}:${effect}`;

// Chooses which labels of a machine become labels of its Node (--node-labels-from). Keys and values come from cloud users,
// who may have no rights in the cluster, so everything is checked and limited. Pure.

import { isLabel } from "../../../core/labels.ts";
import type { Problem } from "../../../core/problem.ts";
import type { Labels } from "../../../kube/objects.ts";
import type { Instance } from "../../../provider/instances.ts";
import { isReservedLabel } from "../../well-known.ts";
import { cloudLabelsSkipped } from "../texts.ts";

/** The maximum number of labels that a Node gets from the cloud: the first ones by key. */
export const maxCloudLabels = 32;
/** The annotation that records the keys must stay short, because longer Node annotations are dropped when they are read. */
const maxRecordLength = 2000;

export interface ChosenLabels {
  /** Sorted by key. */
  readonly labels: readonly (readonly [key: string, value: string])[];
  readonly problems: readonly Problem[];
}

export interface CloudLabelInput {
  readonly instance: Pick<Instance, "cloudLabels" | "labels">;
  readonly ownPrefixes: readonly string[];
  /** Keys, or prefixes that end with `*`. */
  readonly labelsFrom: readonly string[];
}

/** Undefined if the cloud does not report the machine's labels: the Node's labels then stay unchanged. */
export function chooseCloudLabels(input: CloudLabelInput): ChosenLabels | undefined {
  const { cloudLabels } = input.instance;
  if (cloudLabels === undefined) return undefined;
  const wanted = Object.entries(cloudLabels)
    .filter(([key]) => isChosen(key, input.labelsFrom))
    .toSorted(([one], [other]) => (one < other ? -1 : 1));
  const open = wanted.filter(([key, value]) => isOpen(key, input) && isLabel(key, value));
  let recordLength = 0;
  const labels = open.slice(0, maxCloudLabels).filter(([key]) => {
    recordLength += key.length + 1;
    return recordLength <= maxRecordLength;
  });
  const skipped = wanted.filter((one) => !labels.includes(one)).map(([key]) => key);
  return { labels, problems: skipped.length === 0 ? [] : [cloudLabelsSkipped(skipped)] };
}

function isChosen(key: string, chosen: readonly string[]): boolean {
  return chosen.some((one) => (one.endsWith("*") ? key.startsWith(one.slice(0, -1)) : key === one));
}

/** Labels of Kubernetes and of the provider affect more than scheduling, so cloud users must not set them. */
export function isOpen(
  key: string,
  { instance, ownPrefixes }: Pick<CloudLabelInput, "instance" | "ownPrefixes">,
): boolean {
  const isOfProvider =
    Object.hasOwn(instance.labels ?? {}, key) || ownPrefixes.some((prefix) => key.startsWith(prefix));
  return !isOfProvider && !isReservedLabel(key) && !key.startsWith("node-role");
}

/** The labels that Fairlead wrote from the cloud, as listed in the Node's annotation. */
export function recordedKeys(record: string | undefined): ReadonlySet<string> {
  return new Set((record ?? "").split(",").filter((key) => key !== ""));
}

/** Undefined without any such labels: the Node then has no annotation. */
export function toRecord(keys: readonly string[]): string | undefined {
  return keys.length === 0 ? undefined : keys.join(",");
}

/** The Node's label, ignoring inherited properties: `constructor` is a valid key. */
export function ownLabel(labels: Labels, key: string): string | undefined {
  return Object.hasOwn(labels, key) ? labels[key] : undefined;
}

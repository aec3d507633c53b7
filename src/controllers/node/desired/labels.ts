// Plans the label changes of a Node. The key determines the owner of a label; the key's policy determines how a difference is
// handled. Pure.

import type { Problem } from "../../../core/problem.ts";
import type { Labels } from "../../../kube/objects.ts";
import type { Instance } from "../../../provider/instances.ts";
import { isReservedLabel, labelPairs } from "../../well-known.ts";
import type { LabelPolicy, NodeSettings } from "../settings.ts";
import { labelDiffers } from "../texts.ts";
import { chooseCloudLabels, isOpen, ownLabel, recordedKeys, toRecord } from "./cloud-labels.ts";

export interface LabelChanges {
  /** Undefined removes a label. */
  readonly set: Readonly<Record<string, string | undefined>>;
  /** The new value of the annotation that lists the labels from the cloud. If unset, the annotation stays unchanged. */
  readonly record?: { readonly value: string | undefined };
  readonly problems: readonly Problem[];
}

export interface LabelInput {
  readonly labels: Labels;
  /** The Node's annotation that lists the labels which Fairlead wrote from the cloud. */
  readonly record?: string | undefined;
  readonly instance: Instance;
  /** True for a joining Node: all known labels are written, as in upstream. */
  readonly isNew: boolean;
  readonly ownPrefixes: readonly string[];
  readonly settings: Pick<
    NodeSettings,
    "labelPolicies" | "labelsFrom" | "preferBetaLabels" | "reconcileLabels"
  >;
}

const defaultPolicies = { type: "sync", zone: "report", region: "report" } as const satisfies Record<
  keyof typeof labelPairs,
  LabelPolicy
>;

export function planLabels(input: LabelInput): LabelChanges {
  const set: Record<string, string> = {};
  const problems: Problem[] = [];
  for (const fact of ["type", "zone", "region"] as const) planPair(input, fact, set, problems);
  for (const [key, value] of Object.entries(input.instance.labels ?? {})) {
    const isOwn = input.ownPrefixes.some((prefix) => key.startsWith(prefix));
    if (!isReservedLabel(key)) planAdditional(input, key, value, isOwn ? "sync" : "once", set, problems);
  }
  const fromCloud = planCloudLabels(input, set, problems);
  const { removed, record } = fromCloud ?? {};
  return { set: { ...set, ...removed }, ...(record && { record }), problems };
}

/**
 * The machine labels that --node-labels-from selects. Labels that the machine lost, or that the flag no longer selects,
 * are removed from the Node if Fairlead wrote them.
 */
function planCloudLabels(input: LabelInput, set: Record<string, string>, problems: Problem[]) {
  const { labels, record, instance, ownPrefixes, settings } = input;
  const recorded = recordedKeys(record);
  if (settings.labelsFrom.length === 0 && recorded.size === 0) return undefined;
  const chosen = chooseCloudLabels({ instance, ownPrefixes, labelsFrom: settings.labelsFrom });
  if (chosen === undefined) return undefined;
  for (const [key, value] of chosen.labels) planAdditional(input, key, value, "sync", set, problems);
  problems.push(...chosen.problems);
  const kept = chosen.labels.map(([key]) => key);
  // Kubelets may write the annotation, so only labels that they could remove themselves are removed because of it.
  const removed = [...recorded].filter(
    (key) =>
      !kept.includes(key) &&
      isOpen(key, input) &&
      ownLabel(labels, key) !== undefined &&
      policyFor(key, "sync", settings) === "sync",
  );
  const written = kept.filter(
    (key) => Object.hasOwn(set, key) || (recorded.has(key) && ownLabel(labels, key) !== undefined),
  );
  return {
    removed: Object.fromEntries(removed.map((key) => [key, undefined])),
    record: { value: toRecord(written) },
  };
}

type Pair = keyof typeof labelPairs;

/** The changes that the beta labels of an initialized Node require, as in upstream; independent of the instance. */
export function labelsFromBeta(labels: Labels, settings: Pick<NodeSettings, "preferBetaLabels">): Labels {
  const set: Record<string, string> = {};
  for (const fact of ["type", "zone", "region"] as const) {
    const { current } = labelPairs[fact];
    const value = valueFromBeta(labels, fact, settings);
    if (value !== undefined && labels[current] !== value) set[current] = value;
  }
  return set;
}

/** Undefined if the beta label has no effect. */
function valueFromBeta(
  labels: Labels,
  fact: Pair,
  { preferBetaLabels }: Pick<NodeSettings, "preferBetaLabels">,
): string | undefined {
  const { current, beta } = labelPairs[fact];
  return labels[current] === undefined || preferBetaLabels ? labels[beta] : undefined;
}

function planPair(input: LabelInput, fact: Pair, set: Record<string, string>, problems: Problem[]): void {
  const { labels, instance, isNew, settings } = input;
  const { current, beta } = labelPairs[fact];
  const desired = instance[fact] ?? "";
  if (isNew) {
    if (desired === "") return;
    if (labels[current] !== desired) set[current] = desired;
    if (labels[beta] !== desired) set[beta] = desired;
    return;
  }
  const fromBeta = valueFromBeta(labels, fact, settings);
  if (fromBeta !== undefined) {
    if (labels[current] !== fromBeta) set[current] = fromBeta;
    return;
  }
  const policy = policyFor(current, defaultPolicies[fact], settings);
  if (desired === "" || policy === "once") return;
  if (labels[current] === undefined) set[current] = desired;
  else if (labels[current] !== desired && policy === "report")
    problems.push(labelDiffers(current, labels[current], desired));
  if (policy !== "sync") return;
  if (labels[current] !== desired) set[current] = desired;
  // A Node without the beta label does not get one after joining.
  if (labels[beta] !== undefined && labels[beta] !== desired) set[beta] = desired;
}

/** A policy for the label itself takes precedence. */
function policyFor(
  key: string,
  defaultPolicy: LabelPolicy,
  { labelPolicies, reconcileLabels }: LabelInput["settings"],
): LabelPolicy {
  const own = Object.hasOwn(labelPolicies, key) ? labelPolicies[key] : undefined;
  return own ?? (reconcileLabels ? defaultPolicy : "once");
}

function planAdditional(
  { labels, isNew, settings }: LabelInput,
  key: string,
  value: string,
  defaultPolicy: LabelPolicy,
  set: Record<string, string>,
  problems: Problem[],
): void {
  const policy = policyFor(key, defaultPolicy, settings);
  const present = ownLabel(labels, key);
  if (present === value) return;
  if (present === undefined) {
    if (isNew || policy !== "once") set[key] = value;
    return;
  }
  if (policy === "once") return;
  if (policy === "report") problems.push(labelDiffers(key, present, value));
  else set[key] = value;
}

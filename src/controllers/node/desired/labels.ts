// Plans the label changes of a Node. The key determines the owner of a label, and the key's policy what to do about a
// difference. Pure.

import type { Problem } from "../../../core/problem.ts";
import type { Labels } from "../../../kube/objects.ts";
import type { Instance } from "../../../provider/instances.ts";
import { isReservedLabel, labelPairs } from "../../well-known.ts";
import type { LabelPolicy, NodeSettings } from "../settings.ts";
import { labelDiffers } from "../texts.ts";

export interface LabelChanges {
  readonly set: Labels;
  readonly problems: readonly Problem[];
}

export interface LabelInput {
  readonly labels: Labels;
  readonly instance: Instance;
  /** The Node joins: all known labels are written, as upstream does. */
  readonly isNew: boolean;
  readonly ownPrefixes: readonly string[];
  readonly settings: Pick<NodeSettings, "labelPolicies" | "preferBetaLabels" | "reconcileLabels">;
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
    planAdditional(input, key, value, set, problems);
  }
  return { set, problems };
}

type Pair = keyof typeof labelPairs;

/** What the beta labels of an initialized Node require, as upstream; it does not depend on the instance. */
export function labelsFromBeta(labels: Labels, settings: Pick<NodeSettings, "preferBetaLabels">): Labels {
  const set: Record<string, string> = {};
  for (const fact of ["type", "zone", "region"] as const) {
    const { current } = labelPairs[fact];
    const value = valueFromBeta(labels, fact, settings);
    if (value !== undefined && labels[current] !== value) set[current] = value;
  }
  return set;
}

/** Undefined where the beta label decides nothing. */
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
  // A Node without the beta label does not get it after joining.
  if (labels[beta] !== undefined && labels[beta] !== desired) set[beta] = desired;
}

/** A policy for the label itself takes precedence. */
function policyFor(
  key: string,
  defaultPolicy: LabelPolicy,
  { labelPolicies, reconcileLabels }: LabelInput["settings"],
): LabelPolicy {
  return labelPolicies[key] ?? (reconcileLabels ? defaultPolicy : "once");
}

function planAdditional(
  { labels, isNew, ownPrefixes, settings }: LabelInput,
  key: string,
  value: string,
  set: Record<string, string>,
  problems: Problem[],
): void {
  if (isReservedLabel(key)) return;
  const isOwn = ownPrefixes.some((prefix) => key.startsWith(prefix));
  const policy = policyFor(key, isOwn ? "sync" : "once", settings);
  const present = labels[key];
  if (present === value) return;
  if (present === undefined) {
    if (isNew || policy !== "once") set[key] = value;
    return;
  }
  if (policy === "once") return;
  if (policy === "report") problems.push(labelDiffers(key, present, value));
  else set[key] = value;
}

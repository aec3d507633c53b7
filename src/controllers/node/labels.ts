// Which labels of a Node are to change: ownership follows from the key, what to do about a difference from the policy of
// that key. Pure.

import type { Problem } from "../../core/problem.ts";
import type { Labels } from "../../kube/objects.ts";
import type { Instance } from "../../provider/instances.ts";
import { isReservedLabel, labelPairs } from "../well-known.ts";
import type { LabelPolicy, NodeSettings } from "./settings.ts";

export interface LabelChanges {
  readonly set: Labels;
  readonly problems: readonly Problem[];
}

export interface LabelInput {
  readonly labels: Labels;
  readonly instance: Instance;
  /** A node that joins: everything we know is written, as upstream does. */
  readonly isNew: boolean;
  readonly ownPrefixes: readonly string[];
  readonly settings: Pick<NodeSettings, "labelPolicies" | "betaLabelsWin" | "reconcileLabels">;
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

function planPair(input: LabelInput, fact: Pair, set: Record<string, string>, problems: Problem[]): void {
  const { labels, instance, isNew, settings } = input;
  const { current, beta } = labelPairs[fact];
  const wanted = instance[fact] ?? "";
  if (isNew) {
    if (wanted === "") return;
    if (labels[current] !== wanted) set[current] = wanted;
    if (labels[beta] !== wanted) set[beta] = wanted;
    return;
  }
  const ancestor = labels[beta];
  if (ancestor !== undefined && (labels[current] === undefined || settings.betaLabelsWin)) {
    if (labels[current] !== ancestor) set[current] = ancestor;
    return;
  }
  const policy = policyFor(current, defaultPolicies[fact], settings);
  if (wanted === "" || policy === "once") return;
  if (labels[current] === undefined) set[current] = wanted;
  else if (labels[current] !== wanted && policy === "report")
    problems.push(differs(current, labels[current], wanted));
  if (policy !== "sync") return;
  if (labels[current] !== wanted) set[current] = wanted;
  // A Node that never had the old spelling does not get it now.
  if (ancestor !== undefined && ancestor !== wanted) set[beta] = wanted;
}

/** What was said of this very label counts more than what holds for all. */
function policyFor(
  key: string,
  usual: LabelPolicy,
  { labelPolicies, reconcileLabels }: LabelInput["settings"],
): LabelPolicy {
  return labelPolicies[key] ?? (reconcileLabels ? usual : "once");
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
  if (policy === "report") problems.push(differs(key, present, value));
  else set[key] = value;
}

function differs(key: string, present: string, wanted: string): Problem {
  return {
    severity: "warning",
    reason: "LabelDiffers",
    key,
    text: `Label ${key} is ${JSON.stringify(present)}, the cloud says ${JSON.stringify(wanted)}. It is left alone because volumes and scheduling may depend on it; correct it by hand, or let us with --label-policy=${key}=sync.`,
  };
}

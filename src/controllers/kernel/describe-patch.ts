// Describes what a patch would write, for `plan` and the journal in observe mode. Only the fields listed here are shown with their
// values; other fields, including annotations, are shown by name only, so that no secret is revealed. Pure.

import { shortList } from "../../core/text.ts";
import type {
  Condition,
  LoadBalancerIngress,
  Node,
  NodeAddress,
  Service,
  Taint,
} from "../../kube/objects.ts";
import type { JsonPatchStep, Patch } from "../../kube/patches/patch.ts";

export type Patched = Node | Service;

const withoutEscapes = (part: string): string => part.replaceAll("~1", "/").replaceAll("~0", "~");

function addresses(value: readonly NodeAddress[]): string {
  return value.length === 0
    ? "no addresses"
    : `addresses ${value.map(({ type, address }) => `${type}=${address}`).join(" ")}`;
}

function labels(value: Readonly<Record<string, string>>): readonly string[] {
  return Object.entries(value).map(([key, text]) => `label ${key}=${text}`);
}

/** The items that are added to and removed from a list, which is written as a whole. */
function change(
  what: string,
  before: readonly string[],
  after: readonly string[],
  [added, removed]: readonly [string, string],
): readonly string[] {
  return [
    ...after.filter((item) => !before.includes(item)).map((item) => `${what} ${item} ${added}`),
    ...before.filter((item) => !after.includes(item)).map((item) => `${what} ${item} ${removed}`),
  ];
}

const taintsOf = ({ spec }: Patched): readonly Taint[] => ("taints" in spec ? (spec.taints ?? []) : []);

function taintNames(taints: readonly Taint[]): readonly string[] {
  return taints.map(({ key, effect }) => `${key}:${effect}`);
}

function conditionNames(conditions: readonly Condition[] = []): readonly string[] {
  return conditions.map(
    ({ type, status, reason }) => `${type}=${status}${reason === undefined ? "" : ` (${reason})`}`,
  );
}

function ingress({ ingress: points = [] }: { readonly ingress?: readonly LoadBalancerIngress[] }): string {
  const names = points.map(({ ip, hostname }) => ip ?? hostname ?? "?");
  return names.length === 0 ? "no addresses" : `addresses ${names.join(" ")}`;
}

function describeStep(object: Patched, step: Exclude<JsonPatchStep, { op: "test" }>): readonly string[] {
  const { path } = step;
  // All patches come from `src/kube/patches`, so the paths and the types of their values are known.
  const value: unknown = "value" in step ? step.value : undefined;
  const [, , field, key] = path.split("/");
  if (field === "labels" && key !== undefined) {
    const name = withoutEscapes(key);
    return [step.op === "remove" ? `label ${name} removed` : `label ${name}=${String(value)}`];
  }
  if (field === "annotations" && key !== undefined) {
    return [`annotation ${withoutEscapes(key)}${step.op === "remove" ? " removed" : ""}`];
  }
  switch (path) {
    case "/status/addresses":
      return [addresses(value as readonly NodeAddress[])];
    case "/spec/providerID":
      return [`provider ID ${String(value)}`];
    case "/spec/podCIDRs":
      return [`pod CIDRs ${(value as readonly string[]).join(" ")}`];
    case "/spec/podCIDR":
      return [];
    case "/metadata/labels":
      return labels(value as Readonly<Record<string, string>>);
    case "/metadata/annotations":
      return Object.keys(value as object).map((name) => `annotation ${name}`);
    case "/metadata/finalizers":
      return change("finalizer", object.metadata.finalizers ?? [], (value ?? []) as readonly string[], [
        "added",
        "removed",
      ]);
    case "/spec/taints":
      return change("taint", taintNames(taintsOf(object)), taintNames((value ?? []) as readonly Taint[]), [
        "added",
        "removed",
      ]);
    case "/status/conditions":
      return change(
        "condition",
        conditionNames(object.status.conditions),
        conditionNames((value ?? []) as readonly Condition[]),
        ["set", "removed"],
      );
    case "/status/loadBalancer":
      return [ingress(value as { readonly ingress?: readonly LoadBalancerIngress[] })];
    default:
      return [`${step.op} ${path}`];
  }
}

type MergedCondition = Condition & { readonly $patch?: "delete" };

function describeMerge(body: object): readonly string[] {
  const { status } = body as { readonly status?: { readonly conditions?: readonly MergedCondition[] } };
  return (status?.conditions ?? []).map((condition) =>
    condition.$patch === "delete"
      ? `condition ${condition.type} removed`
      : `condition ${conditionNames([condition]).join("")} set`,
  );
}

/** There may be many labels, so they come last: the end is truncated when the text is too long. */
function labelsLast(changes: readonly string[]): readonly string[] {
  const isLabel = (change: string): boolean => change.startsWith("label ");
  return [...changes.filter((change) => !isLabel(change)), ...changes.filter(isLabel)];
}

/** One line of limited length, which changes only when the written values do. */
export function describePatch(object: Patched, patch: Patch): string {
  return shortList(
    patch.contentType === "application/json-patch+json"
      ? labelsLast(patch.body.flatMap((step) => (step.op === "test" ? [] : describeStep(object, step))))
      : describeMerge(patch.body),
  );
}

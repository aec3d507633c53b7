// Reads the rules for a Service's targets from its annotations and the operator's settings: the policy,
// selectors and limits. Pure.

import type { Milliseconds } from "../../../core/brand.ts";
import { defined } from "../../../core/defined.ts";
import type { NodeSelector } from "../../../core/node-selector.ts";
import type { Fields } from "../../../core/settings.ts";
import type { Service } from "../../../kube/objects.ts";
import { requestsOnlyLocalTraffic } from "../predicates.ts";
import type { ServiceSettings } from "../settings.ts";
import { type AnnotationTable, annotationKey, type ReadAnnotations } from "./annotations.ts";

/** A selector, and the annotation that contains it. */
export interface NamedSelector extends NodeSelector {
  readonly key: string;
}

export interface TargetRules {
  /** `subset` never exceeds the limit; with the other policies, reaching a limit is a problem. */
  readonly policy: "all" | "selector" | "endpoints" | "subset";
  readonly selector?: NodeSelector;
  /** The provider's annotation that selects Nodes, which applies with every policy. */
  readonly cloudSelector?: NamedSelector;
  /** The requested maximum number of targets. */
  readonly limit?: number;
  /** Usually the Service's UID, so that each Service gets a different subset and the load is spread. */
  readonly seed?: string;
  /** How long a target drains before it is removed. */
  readonly drain: Milliseconds;
}

const names = ["target-policy", "target-selector", "target-limit", "target-drain"] as const;

/** Undefined while one of the annotations is invalid. Without these annotations, every Node is a target. */
export function readTargetRules(
  service: Service,
  { own: { values, frozen }, ...read }: Pick<ReadAnnotations<Fields>, "own" | "settings" | "frozen">,
  settings: Pick<ServiceSettings, "targets" | "targetDrain">,
  table: AnnotationTable<Fields>,
): TargetRules | undefined {
  const { targetSelector: cloudName } = table;
  if (names.some((name) => frozen.has(name))) return undefined;
  if (cloudName !== undefined && read.frozen.has(cloudName)) return undefined;
  const selector = values["target-selector"];
  const limit = values["target-limit"];
  const implied = selector !== undefined ? "selector" : limit !== undefined ? "subset" : undefined;
  const wantsEndpoints =
    settings.targets === "endpoints" ||
    (settings.targets === "local-endpoints" && requestsOnlyLocalTraffic(service));
  return defined({
    policy: values["target-policy"] ?? implied ?? (wantsEndpoints ? "endpoints" : "all"),
    seed: service.metadata.uid,
    drain: values["target-drain"] ?? settings.targetDrain,
    selector,
    cloudSelector: cloudName === undefined ? undefined : cloudSelectorOf(cloudName, read.settings, table),
    limit,
  });
}

function cloudSelectorOf(
  name: string,
  settings: ReadAnnotations<Fields>["settings"],
  { prefix }: AnnotationTable<Fields>,
): NamedSelector | undefined {
  // The contract only permits a field of this type.
  const selector = settings[name] as NodeSelector | undefined;
  return selector && { key: annotationKey(name, prefix), text: selector.text, matches: selector.matches };
}

// Reads the rules for choosing the targets of a Service: its annotations take precedence over the operator's settings. Pure.

import type { Milliseconds } from "../../../core/brand.ts";
import { defined } from "../../../core/defined.ts";
import type { Service } from "../../../kube/objects.ts";
import type { ServiceSettings } from "../settings.ts";
import type { NodeSelector } from "./node-selector.ts";
import type { OwnSettings } from "./own-annotations.ts";
import { requestsOnlyLocalTraffic } from "./source-ranges.ts";

export interface TargetRules {
  /** `subset` never takes more than the limit; for the others, reaching a limit is a problem. */
  readonly policy: "all" | "selector" | "endpoints" | "subset";
  readonly selector?: NodeSelector;
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
  { values, frozen }: OwnSettings,
  settings: Pick<ServiceSettings, "targets" | "targetDrain">,
): TargetRules | undefined {
  if (names.some((name) => frozen.has(name))) return undefined;
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
    limit,
  });
}

// By which rules the targets of a Service are chosen: its own annotations, else what the operator decided. The last right
// rules are remembered, so that a typo in a selector moves no target.

import { type Milliseconds, type ServiceUID, serviceUID } from "../../../core/brand.ts";
import type { Service } from "../../../kube/objects.ts";
import type { OwnSettings } from "../annotations/own-annotations.ts";
import { requestsOnlyLocalTraffic } from "../annotations/source-ranges.ts";
import type { ServiceSettings } from "../settings.ts";
import type { TargetRules } from "./target-policy.ts";

export interface Rules extends TargetRules {
  readonly drain: Milliseconds;
}

const names = ["target-policy", "target-selector", "target-limit", "target-drain"] as const;

export function createTargetRules(settings: Pick<ServiceSettings, "targets" | "targetDrain">) {
  const last = new Map<ServiceUID, Rules>();

  /** Without a policy of its own a Service gets every node, except where it says which ones or how many. */
  const read = (service: Service, { values }: OwnSettings): Rules => {
    const selector = values["target-selector"];
    const limit = values["target-limit"];
    const implied = selector !== undefined ? "selector" : limit !== undefined ? "subset" : undefined;
    const wantsEndpoints =
      settings.targets === "endpoints" ||
      (settings.targets === "local-endpoints" && requestsOnlyLocalTraffic(service));
    return {
      policy: values["target-policy"] ?? implied ?? (wantsEndpoints ? "endpoints" : "all"),
      seed: service.metadata.uid,
      drain: values["target-drain"] ?? settings.targetDrain,
      ...(selector !== undefined && { selector }),
      ...(limit !== undefined && { limit }),
    };
  };

  return {
    /** Undefined while one is wrong and nobody knows what it was before. */
    of: (service: Service, own: OwnSettings): Rules | undefined => {
      const uid = serviceUID(service.metadata.uid);
      const isWrong = names.some((name) => own.frozen.has(name));
      const rules = isWrong ? last.get(uid) : read(service, own);
      if (rules !== undefined) last.set(uid, rules);
      return rules;
    },
    forget: (uid: ServiceUID): void => void last.delete(uid),
    /** Labels of Nodes decide who is a target of somebody. */
    get labelsMatter(): boolean {
      return [...last.values()].some(({ selector }) => selector !== undefined);
    },
  };
}

// Warnings about fields and annotations of a Service that have no effect, because another one takes precedence or the cloud does
// not support them. Pure.

import type { IpAddress } from "../../../core/brand.ts";
import { parseIp } from "../../../core/ip.ts";
import type { Problem } from "../../../core/problem.ts";
import type { Service } from "../../../kube/objects.ts";
import { ownPrefix } from "../../well-known.ts";
import type { OwnSettings } from "./own-annotations.ts";
import { sourceRangesAnnotation } from "./source-ranges.ts";

export function ignoredAnnotations(
  { metadata, spec }: Service,
  { values }: Pick<OwnSettings, "values">,
): readonly Problem[] {
  const problems: Problem[] = [];
  const ignore = (key: string, why: string): void => {
    problems.push({
      severity: "warning",
      reason: "AnnotationIgnored",
      key,
      text: `${key} has no effect, because ${why}`,
    });
  };
  const policy = values["target-policy"];
  const policyKey = `${ownPrefix}target-policy`;
  const selectorKey = `${ownPrefix}target-selector`;
  if (policy !== undefined && policy !== "selector" && values["target-selector"] !== undefined) {
    ignore(
      selectorKey,
      `${policyKey} is ${JSON.stringify(policy)}. Set it to "selector", or remove one of them.`,
    );
  }
  const limitKey = `${ownPrefix}target-limit`;
  if (policy === "subset" && values["target-limit"] === undefined) {
    ignore(policyKey, `${limitKey} is not set, so every Node is a target. Set it, or remove the policy.`);
  }
  const annotated = (metadata.annotations?.[sourceRangesAnnotation] ?? "")
    .split(",")
    .map((part) => part.trim());
  const ranges = spec.loadBalancerSourceRanges ?? [];
  const isSame = annotated.toSorted().join() === ranges.toSorted().join();
  if (annotated.join() !== "" && ranges.length > 0 && !isSame) {
    ignore(
      sourceRangesAnnotation,
      "spec.loadBalancerSourceRanges takes precedence. Remove the annotation, or move its ranges there.",
    );
  }
  return problems;
}

/** The address that the Service requests, on a cloud that cannot assign it. */
export function ignoredAddress(requested: IpAddress | undefined, { status }: Service): readonly Problem[] {
  if (requested === undefined) return [];
  const current = (status.loadBalancer?.ingress ?? []).map(({ ip = "" }) => parseIp(ip, "sloppy"));
  if (current.includes(requested)) return [];
  return [
    {
      severity: "warning",
      reason: "AddressIgnored",
      key: "spec.loadBalancerIP",
      text: `spec.loadBalancerIP ${requested} has no effect: this cloud cannot assign a requested address, so it chooses one. Remove the field.`,
    },
  ];
}

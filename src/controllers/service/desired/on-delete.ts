// The meaning of the annotation on-delete for a load balancer that is no longer needed; the provider plans the steps. Pure.

import { didYouMean } from "../../../core/did-you-mean.ts";
import type { Problem } from "../../../core/problem.ts";
import { commandText } from "../../../core/text.ts";
import type { Service } from "../../../kube/objects.ts";
import { heldDeletionText } from "../../../provider/reasons.ts";
import { ownPrefix } from "../../well-known.ts";
import type { OwnSettings } from "../annotations/annotations.ts";
import type { Desired } from "../deps.ts";

const onDeleteAnnotation = `${ownPrefix}on-delete`;

export type OnDelete =
  | { readonly kind: "delete" | "release" }
  /** Nothing is removed, because a deleted load balancer cannot be released later. */
  | { readonly kind: "on hold"; readonly why: string; readonly remedy: string };

/** Only a typo that cannot mean `release` is read as `delete`. */
function meansDelete(text: string): boolean {
  return didYouMean(text, ["delete"]) !== undefined && didYouMean(text, ["release"]) === undefined;
}

export function readOnDelete(
  { metadata }: Service,
  { values, frozen }: OwnSettings,
  { canRelease }: { readonly canRelease: boolean },
): OnDelete {
  if (frozen.has("on-delete")) {
    const text = metadata.annotations?.[onDeleteAnnotation] ?? "";
    if (meansDelete(text.trim())) return { kind: "delete" };
    const got = JSON.stringify(text.slice(0, 80));
    return {
      kind: "on hold",
      why: `${onDeleteAnnotation} must be ${canRelease ? `"delete" or "release"` : `"delete", because this cloud cannot release load balancers`}, got ${got}`,
      remedy: remedyOf(metadata, canRelease),
    };
  }
  if (values["on-delete"] === "delete") return { kind: "delete" };
  if (canRelease) return { kind: "release" };
  return {
    kind: "on hold",
    why: `${onDeleteAnnotation} is "release", but this cloud cannot release load balancers`,
    remedy: remedyOf(metadata, canRelease),
  };
}

function remedyOf({ namespace = "default", name }: Service["metadata"], canRelease: boolean): string {
  const command = (word: string): string =>
    commandText(`kubectl -n ${namespace} annotate service ${name} ${onDeleteAnnotation}=${word} --overwrite`);
  const toRelease = canRelease
    ? `. To keep it in the cloud, where Fairlead no longer manages it: ${command("release")}`
    : "";
  return `To delete the load balancer: ${command("delete")}${toRelease}`;
}

/** The deletion policy to remember in case the Service disappears without waiting for its finalizer. */
export function onDeleteToRemember({ kind }: OnDelete, desired: Desired): Desired | "on hold" | undefined {
  if (kind === "delete") return undefined;
  return kind === "on hold" ? kind : { ...desired, targets: [], ending: "release" };
}

export const deletionHeldReason = "DeletionHeld";

/** Reported on a Service whose load balancer should be removed. */
export function deletionOnHold({ why, remedy }: Extract<OnDelete, { readonly kind: "on hold" }>): Problem {
  return {
    severity: "error",
    reason: deletionHeldReason,
    key: onDeleteAnnotation,
    text: heldDeletionText(why, remedy),
  };
}

/** Reported while the Service still has its load balancer. */
export const releaseUnsupported: Problem = {
  severity: "warning",
  reason: "ReleaseUnsupported",
  key: onDeleteAnnotation,
  text: `This cloud cannot release load balancers. When the Service is deleted, its load balancer and the Service stay until ${onDeleteAnnotation} is "delete" or removed.`,
};

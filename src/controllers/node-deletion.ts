// The values of fairlead.dev/node-deletion on Nodes, and what each means. Pure.

import { didYouMean } from "../core/did-you-mean.ts";
import { quoted } from "../core/fields.ts";
import type { Problem } from "../core/problem.ts";
import type { Node } from "../kube/objects.ts";
import { deletionAnnotation } from "./well-known.ts";

const deletionValues = ["never", "confirmed"] as const;

export interface NodeDeletion {
  /** Undefined without the annotation: the Node is deleted when its instance is gone. */
  readonly value: (typeof deletionValues)[number] | undefined;
  /** The value is unknown. It means "never", because a wrong deletion cannot be undone. */
  readonly problem?: Problem;
}

export function nodeDeletionOf({ metadata }: Node): NodeDeletion {
  const raw = metadata.annotations?.[deletionAnnotation];
  if (raw === undefined) return { value: undefined };
  const value = deletionValues.find((known) => known === raw.trim());
  if (value !== undefined) return { value };
  const meant = didYouMean(raw.trim().toLowerCase(), deletionValues);
  const hint = meant === undefined ? "" : ` Did you mean "${meant}"?`;
  const text = `${deletionAnnotation} must be "never" or "confirmed", got ${quoted(raw)}.${hint} Any value except "confirmed" means "never": the Node is not deleted when its instance is gone. Correct the annotation, or remove it.`;
  return {
    value: "never",
    problem: { severity: "warning", reason: "InvalidAnnotation", key: deletionAnnotation, text },
  };
}

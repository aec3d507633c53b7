// Annotations that the holder of a Lease keeps on it. They are written with renewals that are sent anyway; annotations of other
// programs stay.

import type { Lease } from "../objects.ts";

export interface LeaseAnnotations {
  /** A Lease was read, by a standby replica too. */
  read(lease: Lease): void;
  /** The annotations for the next write. `before` is the Lease that it replaces; undefined if there is none yet. */
  next(before: Lease | undefined, purpose: "hold" | "release"): AnnotationWrite;
}

export interface AnnotationWrite {
  /** An undefined value removes the annotation. */
  readonly values: Readonly<Record<string, string | undefined>>;
  /** Called when exactly these values are stored. */
  readonly onStored: () => void;
}

export const noAnnotations: LeaseAnnotations = {
  read: () => undefined,
  next: () => ({ values: {}, onStored: () => undefined }),
};

/** The metadata with these annotations; the same metadata if nothing changes. Pure. */
export function annotate<M extends { readonly annotations?: Readonly<Record<string, string>> }>(
  metadata: M,
  values: AnnotationWrite["values"],
): M {
  const { annotations: before, ...rest } = metadata;
  if (Object.entries(values).every(([key, value]) => before?.[key] === value)) return metadata;
  const annotations = Object.fromEntries(
    Object.entries({ ...before, ...values }).filter(([, value]) => value !== undefined),
  );
  return (Object.keys(annotations).length === 0 ? rest : { ...rest, annotations }) as M;
}

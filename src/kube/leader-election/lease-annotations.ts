// Annotations that the holder of a Lease maintains on it. They are written with renewals that are sent anyway; annotations of
// other programs stay unchanged.

import type { Lease, ObjectMeta } from "../objects.ts";

export interface LeaseAnnotations {
  /** Called when a Lease was read, even by a standby replica. */
  read?(lease: Lease): void;
  /** The annotations for the next write. `before` is the Lease that the write replaces; undefined if there is none yet. */
  next(before: Lease | undefined, purpose: "hold" | "release"): AnnotationWrite;
}

export interface AnnotationWrite {
  /** An undefined value removes the annotation. */
  readonly values: Readonly<Record<string, string | undefined>>;
  /** Called when exactly these values are stored. */
  readonly onStored: () => void;
}

export const noAnnotations: LeaseAnnotations = {
  next: () => ({ values: {}, onStored: () => undefined }),
};

/** The API server rejects objects with larger annotations, and a Lease that cannot be written is lost. */
const maxAnnotationBytes = 256 * 1024;

/** The number of bytes that remain for the value of the annotation with this key. Pure. */
export function roomFor(key: string, lease: Lease | undefined): number {
  return Object.entries(lease?.metadata.annotations ?? {})
    .filter(([other]) => other !== key)
    .flat()
    .reduce((room, text) => room - Buffer.byteLength(text), maxAnnotationBytes - Buffer.byteLength(key));
}

/** Combines several parts of a program. Each part sees what the parts before it write. */
export function joinAnnotations(parts: readonly LeaseAnnotations[]): LeaseAnnotations {
  return {
    read: (lease) => {
      for (const part of parts) part.read?.(lease);
    },
    next: (before, purpose) => {
      let seen = before;
      const writes = parts.map((part) => {
        const write = part.next(seen, purpose);
        seen = {
          ...seen,
          metadata: annotate<Partial<ObjectMeta>>(seen?.metadata ?? {}, write.values),
        } as Lease;
        return write;
      });
      return {
        values: Object.assign({}, ...writes.map(({ values }) => values)),
        onStored: () => {
          for (const { onStored } of writes) onStored();
        },
      };
    },
  };
}

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

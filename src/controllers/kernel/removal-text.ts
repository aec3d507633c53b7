// The text in which removals are stored on the Lease: for each kind, short ids by the time of the removal. Pure.

import { hash } from "../../core/hash.ts";
import { toTime } from "../../kube/objects.ts";
import { type RemovalKind, removalKinds } from "./removal-kinds.ts";

export interface StoredRemoval {
  readonly kind: RemovalKind;
  readonly id: string;
  /** Milliseconds since the removal. */
  readonly age: number;
}

type Stored = Partial<Record<string, Partial<Record<string, readonly string[]>>>>;

/** Short, so that thousands of ids fit into an annotation. */
export const shortId = (id: string): string => hash(id).toString(16).padStart(8, "0");

/** Undefined without removals. `now` is wall-clock time. */
export function encodeRemovals(removals: readonly StoredRemoval[], now: number): string | undefined {
  if (removals.length === 0) return undefined;
  // Rounded up, so that a removal is never forgotten early.
  const timeOf = ({ age }: StoredRemoval): string => toTime(Math.ceil((now - age) / 1000) * 1000);
  const idsByTime = (ofKind: readonly StoredRemoval[]) =>
    Object.fromEntries(
      [...Map.groupBy(ofKind, timeOf)].map(([time, at]) => [time, at.map(({ id }) => id)] as const),
    );
  const stored = Object.fromEntries(
    [...Map.groupBy(removals, ({ kind }) => kind)].map(
      ([kind, ofKind]) => [kind, idsByTime(ofKind)] as const,
    ),
  );
  return JSON.stringify(stored);
}

/** The oldest removals whose text fits into this many bytes, and the remaining removals. The text is ASCII. */
export function fitRemovals(
  removals: readonly StoredRemoval[],
  now: number,
  room: number,
): { readonly text: string | undefined; readonly omitted: readonly StoredRemoval[] } {
  const fits = (text: string | undefined): boolean => (text?.length ?? 0) <= room;
  const all = encodeRemovals(removals, now);
  if (fits(all)) return { text: all, omitted: [] };
  const ordered = removals.toSorted((one, other) => other.age - one.age);
  let [fitting, tooMany] = [0, ordered.length];
  while (tooMany - fitting > 1) {
    const middle = Math.floor((fitting + tooMany) / 2);
    if (fits(encodeRemovals(ordered.slice(0, middle), now))) fitting = middle;
    else tooMany = middle;
  }
  return { text: encodeRemovals(ordered.slice(0, fitting), now), omitted: ordered.slice(fitting) };
}

/**
 * `writtenAt` is the wall-clock time at which the text was written, by the same clock as the times in it, because clocks of
 * two machines are never compared. Later times count as now. Unreadable parts are skipped.
 */
export function decodeRemovals(text: string, writtenAt: number): readonly StoredRemoval[] {
  const stored = parse(text);
  return removalKinds.flatMap((kind) =>
    Object.entries(stored[kind] ?? {}).flatMap(([time, ids]) => {
      const at = Date.parse(time);
      if (Number.isNaN(at) || !Array.isArray(ids)) return [];
      const age = Math.max(0, writtenAt - at);
      return ids.flatMap((id: unknown) => (typeof id === "string" ? [{ kind, id, age }] : []));
    }),
  );
}

function parse(text: string): Stored {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Stored) : {};
  } catch {
    return {};
  }
}

// Compares and shows single values of two configurations. Secrets are compared, and never shown. Pure.

import { milliseconds } from "../../core/brand.ts";
import { formatDuration } from "../../core/duration.ts";
import { Secret } from "../../core/secret.ts";
import type { Field } from "../../core/settings.ts";

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null;

/** Values with equal text are equal. Use this only for comparison, because the text contains secrets. */
function comparable(value: unknown): string {
  if (value instanceof Secret) return `secret ${value.reveal()}`;
  if (value instanceof Map) return comparable([...value]);
  if (Array.isArray(value)) return `[${value.map(comparable).join()}]`;
  if (!isObject(value)) return JSON.stringify(value) ?? String(value);
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([name, entry]) => `${JSON.stringify(name)}:${comparable(entry)}`).join()}}`;
}

export function isSame(before: unknown, after: unknown): boolean {
  return comparable(before) === comparable(after);
}

function hasSecret(value: unknown): boolean {
  if (value instanceof Secret) return true;
  return isObject(value) && Object.values(value).some(hasSecret);
}

function shown(value: unknown, { kind }: Field<unknown>): string {
  if (value === undefined) return "unset";
  if (kind === "duration" && typeof value === "number") return formatDuration(milliseconds(value));
  if (value instanceof Map)
    return JSON.stringify([...value].map(([key, entry]) => `${key}=${entry}`).join(","));
  return JSON.stringify(value) ?? String(value);
}

/** Text such as "kubernetes -> prod", or "changed" if either value contains a secret. */
export function describeDifference(field: Field<unknown>, before: unknown, after: unknown): string {
  if (hasSecret(before) || hasSecret(after)) return "changed";
  return `${shown(before, field)} -> ${shown(after, field)}`;
}

/** The parts of a cloud setting that need a restart: in a list of records, the fields of an entry that are not live. */
function restartPart({ reload, entry }: Field<unknown>, value: unknown): unknown {
  if (reload === "live") return undefined;
  if (entry === undefined || !Array.isArray(value)) return value;
  return value.map((record: Readonly<Record<string, unknown>>) =>
    Object.entries<Field<unknown>>(entry).map(([name, field]) => restartPart(field, record[name])),
  );
}

/** Whether a changed cloud setting needs a restart. */
export function differenceNeedsRestart(field: Field<unknown>, before: unknown, after: unknown): boolean {
  return !isSame(restartPart(field, before), restartPart(field, after));
}

/**
 * Returns a record list's former raw text, which only a restart may change, with the live values of the new entries, such as
 * rotated secrets. Entries correspond if they differ only in live values.
 */
export function withLiveEntries({ entry }: Field<unknown>, before: string, after: string): string {
  const [old, next] = [entriesIn(before), entriesIn(after)];
  if (entry === undefined || old === undefined || next === undefined) return before;
  const otherParts = (record: RawEntry): string =>
    comparable(Object.fromEntries(Object.entries(record).filter(([name]) => entry[name]?.reload !== "live")));
  const [oldByOthers, nextByOthers] = [Map.groupBy(old, otherParts), Map.groupBy(next, otherParts)];
  const merged = old.map((record) => {
    const others = otherParts(record);
    const [match, ...rest] = nextByOthers.get(others) ?? [];
    return match === undefined || rest.length > 0 || oldByOthers.get(others)?.length !== 1 ? record : match;
  });
  return isSame(old, merged) ? before : JSON.stringify(merged);
}

type RawEntry = Readonly<Record<string, unknown>>;

function entriesIn(raw: string): readonly RawEntry[] | undefined {
  try {
    const value: unknown = JSON.parse(raw);
    return Array.isArray(value) && value.every(isObject) ? (value as readonly RawEntry[]) : undefined;
  } catch {
    return undefined;
  }
}

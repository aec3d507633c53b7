// Builders of settings with several values, separated by commas. Spaces around entries and empty entries are ignored; one
// invalid entry makes the whole setting invalid, and the message names it.

import type { Cidr } from "./brand.ts";
import { parseCidr } from "./cidr.ts";
import { type Built, buildField, type FieldOptions, quoted } from "./fields.ts";

function entriesOf(raw: string): string[] {
  return raw
    .split(",")
    .map((entry) => entry.trim())
    .filter((entry) => entry !== "");
}

/** Plans compare the entries with those in the cloud, and no cloud accepts this many. */
const maxEntries = 5000;

const tooMany = (entries: readonly string[]) => ({
  wrong: `${entries.length} entries, and at most ${maxEntries} are possible`,
});

function listOf<T>(parseEntry: (entry: string) => T | undefined) {
  return (raw: string): { readonly value: readonly T[] } | { readonly wrong: string } => {
    const value: T[] = [];
    const texts = entriesOf(raw);
    if (texts.length > maxEntries) return tooMany(texts);
    for (const entry of texts) {
      const parsed = parseEntry(entry);
      if (parsed === undefined) return { wrong: quoted(entry) };
      value.push(parsed);
    }
    return { value };
  };
}

/** Strings, separated by commas. */
export function list<const O extends FieldOptions<readonly string[]>>(
  what: string,
  options?: O,
): Built<readonly string[], O> {
  return entries(what, "a comma-separated list", (entry) => entry, options);
}

/**
 * Values of any kind, separated by commas. `parse` returns undefined for an invalid value, and `expects` completes "must be
 * …".
 *
 * @example
 * entries("Ports with TLS.", "a comma-separated list of ports such as 443,8443", parsePort)
 */
export function entries<T, const O extends FieldOptions<readonly T[]>>(
  what: string,
  expects: string,
  parse: (entry: string) => T | undefined,
  options?: O,
): Built<readonly T[], O> {
  return buildField(what, expects, listOf(parse), options, { kind: "list" });
}

/** CIDRs, separated by commas. As in Kubernetes, leading zeros are accepted. */
export function cidrList<const O extends FieldOptions<readonly Cidr[]>>(
  what: string,
  options?: O,
): Built<readonly Cidr[], O> {
  return entries(
    what,
    "a comma-separated list of CIDRs such as 10.0.0.0/8",
    (entry) => parseCidr(entry, "sloppy"),
    options,
  );
}

/** Key-value pairs such as labels or tags: `a=1,b=2`. If a key is repeated, the last entry wins. */
export function pairs<const O extends FieldOptions<ReadonlyMap<string, string>>>(
  what: string,
  options?: O,
): Built<ReadonlyMap<string, string>, O> {
  return buildField<ReadonlyMap<string, string>, O>(
    what,
    "a comma-separated list such as key=value,other=value",
    (raw) => {
      const value = new Map<string, string>();
      const texts = entriesOf(raw);
      if (texts.length > maxEntries) return tooMany(texts);
      for (const entry of texts) {
        const equals = entry.indexOf("=");
        if (equals < 1) return { wrong: quoted(entry) };
        value.set(entry.slice(0, equals).trim(), entry.slice(equals + 1).trim());
      }
      return { value };
    },
    options,
    { kind: "pairs" },
  );
}

/** Values that may contain commas: one per occurrence of a flag, or one per line. */
export function repeated<const O extends FieldOptions<readonly string[]>>(
  what: string,
  expects: string,
  options?: O,
): Built<readonly string[], O> {
  return buildField<readonly string[], O>(
    what,
    expects,
    (raw) => ({ value: raw.split("\n").flatMap((line) => (line.trim() === "" ? [] : [line.trim()])) }),
    options,
    { kind: "repeated" },
  );
}

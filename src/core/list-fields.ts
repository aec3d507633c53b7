// The builders of settings that hold several values, separated by commas. Blanks around an entry and empty entries mean
// nothing; one wrong entry makes the whole setting wrong and is named.

import type { Cidr, IpAddress } from "./brand.ts";
import { parseCidr } from "./cidr.ts";
import { type Built, buildField, type FieldOptions, quoted } from "./fields.ts";
import { parseIp } from "./ip.ts";

function entriesOf(raw: string): string[] {
  return raw
    .split(",")
    .map((entry) => entry.trim())
    .filter((entry) => entry !== "");
}

function listOf<T>(parseEntry: (entry: string) => T | undefined) {
  return (raw: string): { readonly value: readonly T[] } | { readonly wrong: string } => {
    const value: T[] = [];
    for (const entry of entriesOf(raw)) {
      const parsed = parseEntry(entry);
      if (parsed === undefined) return { wrong: quoted(entry) };
      value.push(parsed);
    }
    return { value };
  };
}

export function list<const O extends FieldOptions<readonly string[]>>(
  what: string,
  options?: O,
): Built<readonly string[], O> {
  return buildField(
    what,
    "a list of texts separated by commas",
    listOf((entry) => entry),
    options,
    { kind: "list" },
  );
}

/** Old spellings with leading zeros are read, as Kubernetes reads them. */
export function cidrList<const O extends FieldOptions<readonly Cidr[]>>(
  what: string,
  options?: O,
): Built<readonly Cidr[], O> {
  return buildField(
    what,
    "a list of address ranges such as 10.0.0.0/8, separated by commas",
    listOf((entry) => parseCidr(entry, "sloppy")),
    options,
    { kind: "list" },
  );
}

export function ipList<const O extends FieldOptions<readonly IpAddress[]>>(
  what: string,
  options?: O,
): Built<readonly IpAddress[], O> {
  return buildField(
    what,
    "a list of IP addresses separated by commas",
    listOf((entry) => parseIp(entry, "sloppy")),
    options,
    { kind: "list" },
  );
}

/** `a=1,b=2`: labels and tags. Of two entries with one key the last counts. */
export function pairs<const O extends FieldOptions<ReadonlyMap<string, string>>>(
  what: string,
  options?: O,
): Built<ReadonlyMap<string, string>, O> {
  return buildField<ReadonlyMap<string, string>, O>(
    what,
    "a list such as key=value,other=value",
    (raw) => {
      const value = new Map<string, string>();
      for (const entry of entriesOf(raw)) {
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

/** Values that hold commas themselves: one for each time it is given, one on a line where they stand together. */
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

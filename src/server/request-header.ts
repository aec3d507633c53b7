// Reads the user from the headers that an authenticated front proxy sends. The cluster configures their names.

import { defined } from "../core/defined.ts";
import type { User } from "./user.ts";

export interface RequestHeaderNames {
  readonly username: readonly string[];
  readonly uid: readonly string[];
  readonly group: readonly string[];
  readonly extraPrefix: readonly string[];
  /** Common names of proxies that are accepted; empty accepts all. */
  readonly allowedNames: readonly string[];
}

type Headers = readonly (readonly [name: string, value: string])[];

function valuesOf(headers: Headers, name: string): readonly string[] {
  return headers.filter(([key]) => key === name.toLowerCase()).map(([, value]) => value);
}

function firstOf(headers: Headers, names: readonly string[]): string {
  return names.map((name) => valuesOf(headers, name)[0] ?? "").find((value) => value !== "") ?? "";
}

/** Extra keys are percent-encoded, because header names have no capitals and no slashes. */
function decoded(key: string): string {
  try {
    return decodeURIComponent(key);
  } catch {
    return key;
  }
}

/** Undefined when the headers name no user. */
export function userInHeaders(headers: Headers, names: RequestHeaderNames): User | undefined {
  const name = firstOf(headers, names.username);
  if (name === "") return undefined;
  const uid = firstOf(headers, names.uid);
  const extra: Record<string, string[]> = {};
  for (const prefix of names.extraPrefix) {
    for (const [key, value] of headers) {
      if (!key.startsWith(prefix.toLowerCase())) continue;
      const extraKey = decoded(key.slice(prefix.length));
      extra[extraKey] = [...(extra[extraKey] ?? []), value];
    }
  }
  return {
    name,
    groups: names.group.flatMap((header) => valuesOf(headers, header)),
    ...defined({
      uid: uid === "" ? undefined : uid,
      extra: Object.keys(extra).length === 0 ? undefined : extra,
    }),
  };
}

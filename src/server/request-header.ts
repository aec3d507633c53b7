// A front proxy that was let in by its certificate says in headers for whom it asks. Which headers is a setting of the cluster.

import type { User } from "./user.ts";

export interface RequestHeaderNames {
  readonly username: readonly string[];
  readonly uid: readonly string[];
  readonly group: readonly string[];
  readonly extraPrefix: readonly string[];
  /** Common names that a proxy may have; empty for any. */
  readonly allowedNames: readonly string[];
}

type Headers = readonly (readonly [name: string, value: string])[];

function valuesOf(headers: Headers, name: string): readonly string[] {
  return headers.filter(([key]) => key === name.toLowerCase()).map(([, value]) => value);
}

function firstOf(headers: Headers, names: readonly string[]): string {
  return names.map((name) => valuesOf(headers, name)[0] ?? "").find((value) => value !== "") ?? "";
}

/** Extra keys come percent-encoded, as header names know no capitals and no slashes. */
function decoded(key: string): string {
  try {
    return decodeURIComponent(key);
  } catch {
    return key;
  }
}

/** Undefined when no user is named. */
export function userInHeaders(headers: Headers, names: RequestHeaderNames): User | undefined {
  const name = firstOf(headers, names.username);
  if (name === "") return undefined;
  const uid = firstOf(headers, names.uid);
  const extra: Record<string, string[]> = {};
  for (const prefix of names.extraPrefix) {
    for (const [key, value] of headers) {
      if (!key.startsWith(prefix.toLowerCase())) continue;
      const name = decoded(key.slice(prefix.length));
      extra[name] = [...(extra[name] ?? []), value];
    }
  }
  return {
    name,
    groups: names.group.flatMap((each) => valuesOf(headers, each)),
    ...(uid !== "" && { uid }),
    ...(Object.keys(extra).length > 0 && { extra }),
  };
}

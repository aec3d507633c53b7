// Finds annotations that are a typo away from an annotation that this cloud reads. Pure.

import { editDistance } from "../../../core/did-you-mean.ts";
import type { Problem } from "../../../core/problem.ts";
import type { Fields } from "../../../core/settings.ts";
import { ownPrefix } from "../../well-known.ts";

export interface KnownAnnotations {
  readonly prefix: string;
  readonly fields: Fields;
  /** Whole keys that are not settings. */
  readonly factKeys?: readonly string[] | undefined;
}

/** A Service may have thousands of annotations; more matches than this have a cause other than typos. */
const maxNearlyKnown = 10;
const maxEdits = 2;

/** Warns about a known name with a mistyped prefix, and about a mistyped key outside the prefix. */
export function nearlyKnown(
  annotations: Readonly<Record<string, string>>,
  { prefix, fields, factKeys = [] }: KnownAnnotations,
): readonly Problem[] {
  const [names, whole] = [false, true].map((isWhole) =>
    Object.keys(fields).filter((name) => name.includes("/") === isWhole),
  ) as [string[], string[]];
  const keys = [...whole, ...factKeys].filter((key) => !key.startsWith(prefix));
  const meantBy = (key: string): string | undefined => {
    const name = names.find(
      (known) =>
        Math.abs(key.length - known.length - prefix.length) <= maxEdits &&
        key.endsWith(known) &&
        isNearly(key.slice(0, -known.length), prefix),
    );
    return name === undefined ? keys.find((known) => isNearly(key, known)) : prefix + name;
  };
  const problems: Problem[] = [];
  for (const key of Object.keys(annotations)) {
    if (key.startsWith(prefix) || key.startsWith(ownPrefix) || keys.includes(key)) continue;
    const meant = meantBy(key);
    if (meant === undefined) continue;
    const text = `${key} is not a known annotation; did you mean ${JSON.stringify(meant)}?`;
    problems.push({ severity: "warning", reason: "UnknownAnnotation", text, key });
    if (problems.length === maxNearlyKnown) break;
  }
  return problems;
}

function isNearly(one: string, other: string): boolean {
  return one.includes("/") && editDistance(one.toLowerCase(), other.toLowerCase(), maxEdits) !== undefined;
}

// Which rows of the feature table work, found out from the tests that passed: their titles end with the ids they prove.

import { featureGroups } from "./feature-rows.ts";

export interface TestResult {
  readonly title: string;
  readonly passed: boolean;
}

const fromXml = (text: string): string =>
  text
    .replaceAll("&quot;", '"')
    .replaceAll("&apos;", "'")
    .replaceAll("&#39;", "'")
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&amp;", "&");

const attributeOf = (attributes: string, key: string): string =>
  new RegExp(`\\b${key}="([^"]*)"`).exec(attributes)?.[1] ?? "";

/** From a JUnit report: a case with a failure, an error or a skip in it did not pass. */
export const readJUnit = (xml: string): readonly TestResult[] =>
  [...xml.matchAll(/<testcase\b([^>]*?)(\/>|>([\s\S]*?)<\/testcase>)/g)].map(
    ([, attributes = "", , inner = ""]) => ({
      // The subject stands in the name of the block: "a node that joins" > "gets its addresses first".
      title: fromXml(["classname", "name"].map((key) => attributeOf(attributes, key)).join(" ")).trim(),
      passed: !/<(failure|error|skipped)\b/.test(inner),
    }),
  );

const bracketed = /\[((?:[FNS]\d+\s*)+)\]/g;

/** `… [F23]` or `… [F23 N4]`, on the test or on the block around it. */
export const idsOf = (title: string): readonly string[] =>
  [...title.matchAll(bracketed)].flatMap(([, ids = ""]) => ids.trim().split(/\s+/));

/** What is not there, in a line a group; a group that is whole is not named. */
const remaining = (proved: ReadonlySet<string>): string => {
  const groups = featureGroups.flatMap(({ about, rows }) => {
    const open = rows.filter(([id]) => !proved.has(id));
    return open.length === 0
      ? []
      : [`- ${about}: ${open.map(([id, feature]) => `${feature} (${id})`).join("; ")}`];
  });
  if (groups.length === 0) return "None is left.";
  return ["No test that needs no cluster proves the others:", "", ...groups].join("\n");
};

export const featuresPage = (results: readonly TestResult[]): string => {
  const proofs = new Map<string, string[]>();
  for (const { title, passed } of results) {
    if (!passed) continue;
    for (const id of idsOf(title)) {
      const shown = title.replaceAll(bracketed, "").replaceAll(/\s+/g, " ").trim();
      const known = proofs.get(id) ?? [];
      if (!known.includes(shown)) proofs.set(id, [...known, shown]);
    }
  }
  const all = featureGroups.flatMap((group) => group.rows);
  const rows = all.filter(([id]) => proofs.has(id));
  return [
    "# What works",
    "",
    "Made by `npm run docs` from the tests that passed; never edited by hand. A row stands here when a test that would fail",
    "without the feature names its id.",
    "",
    `${rows.length} of ${all.length} rows. ${remaining(new Set(proofs.keys()))}`,
    "",
    "| Id | Feature | Proved by |",
    "|---|---|---|",
    ...rows.map(([id, feature]) => {
      const [first = "", ...others] = (proofs.get(id) ?? []).toSorted();
      const more = others.length === 0 ? "" : ` (and ${others.length} more)`;
      return `| ${id} | ${feature} | ${first.replaceAll("|", "\\|")}${more} |`;
    }),
    "",
  ].join("\n");
};

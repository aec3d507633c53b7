// Which rows of the feature table work, found out from the tests that passed: their titles end with the ids they prove.

import { featureGroups } from "./feature-rows.ts";

export interface TestResult {
  readonly title: string;
  readonly passed: boolean;
}

function fromXml(text: string): string {
  return text
    .replaceAll("&quot;", '"')
    .replaceAll("&apos;", "'")
    .replaceAll("&#39;", "'")
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&amp;", "&");
}

function attributeOf(attributes: string, key: string): string {
  return new RegExp(`\\b${key}="([^"]*)"`).exec(attributes)?.[1] ?? "";
}

/** From a JUnit report: a case with a failure, an error or a skip in it did not pass. */
export function readJUnit(xml: string): readonly TestResult[] {
  return [...xml.matchAll(/<testcase\b([^>]*?)(\/>|>([\s\S]*?)<\/testcase>)/g)].map(
    ([, attributes = "", , inner = ""]) => ({
      // The subject stands in the name of the block: "a node that joins" > "gets its addresses first".
      title: fromXml(["classname", "name"].map((key) => attributeOf(attributes, key)).join(" ")).trim(),
      passed: !/<(failure|error|skipped)\b/.test(inner),
    }),
  );
}

const bracketed = /\[((?:[FNS]\d+\s*)+)\]/g;

/** `… [F23]` or `… [F23 N4]`, on the test or on the block around it. */
export function idsOf(title: string): readonly string[] {
  return [...title.matchAll(bracketed)].flatMap(([, ids = ""]) => ids.trim().split(/\s+/));
}

/** The suites, from the one that anybody can run to the one that needs most, and what each needs. */
export const suites = {
  plain: { needs: "nothing", run: "`npm test`" },
  executable: { needs: "the executable", run: "tests of the executable, after `npm run build fake`" },
  cluster: { needs: "a control plane", run: "`npm run test:cluster`" },
} as const;
export type Suite = keyof typeof suites;
const suiteNames = Object.keys(suites) as readonly Suite[];

/** Titles of tests that passed, by suite. */
export type Passed = Readonly<Record<Suite, readonly string[]>>;

interface Proof {
  /** The first suite that has a proof. */
  readonly suite: Suite;
  readonly titles: readonly string[];
}

function proofsOf(passed: Passed): ReadonlyMap<string, Proof> {
  const proofs = new Map<string, Proof>();
  for (const suite of suiteNames) {
    for (const title of passed[suite].toSorted()) {
      const shown = title.replaceAll(bracketed, "").replaceAll(/\s+/g, " ").trim();
      for (const id of idsOf(title)) {
        const known = proofs.get(id) ?? { suite, titles: [] };
        if (!known.titles.includes(shown)) proofs.set(id, { ...known, titles: [...known.titles, shown] });
      }
    }
  }
  return proofs;
}

/** What is not there, in a line a group; a group that is whole is not named. */
function remaining(isProved: (id: string) => boolean): string {
  const groups = featureGroups.flatMap(({ about, rows }) => {
    const open = rows.filter(([id]) => !isProved(id));
    return open.length === 0
      ? []
      : [`- ${about}: ${open.map(([id, feature]) => `${feature} (${id})`).join("; ")}`];
  });
  return groups.length === 0 ? "None is left." : ["No test proves the others:", "", ...groups].join("\n");
}

export function featuresPage(passed: Passed): string {
  const proofs = proofsOf(passed);
  const all = featureGroups.flatMap((group) => group.rows);
  const rows = all.flatMap(([id, feature]) => {
    const proof = proofs.get(id);
    return proof === undefined ? [] : [{ id, feature, proof }];
  });
  const counts = suiteNames.map((suite) => {
    const { needs, run } = suites[suite];
    const count = rows.filter(({ proof }) => proof.suite === suite).length;
    return `| ${needs} | ${run} | ${count} |`;
  });
  return [
    "# What works",
    "",
    "Made by `npm run docs` from the tests that passed; never edited by hand. A row stands here when a test that would fail",
    "without the feature names its id. Rows that only the executable or a control plane can prove are kept from the last",
    "`npm run docs -- --all`, as long as the test is there.",
    "",
    "| Needs | Run by | Rows that need no more |",
    "|---|---|---|",
    ...counts,
    "",
    `${rows.length} of ${all.length} rows. ${remaining((id) => proofs.has(id))}`,
    "",
    "| Id | Feature | Needs | Proved by |",
    "|---|---|---|---|",
    ...rows.map(({ id, feature, proof: { suite, titles } }) => {
      const [first = "", ...others] = titles;
      const more = others.length === 0 ? "" : ` (and ${others.length} more)`;
      return `| ${id} | ${feature} | ${suites[suite].needs} | ${first.replaceAll("|", "\\|")}${more} |`;
    }),
    "",
  ].join("\n");
}

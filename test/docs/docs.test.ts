// The documents as far as a machine can check them: what they name is there. Whether they are true is for readers.

import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { flagsPage } from "../../scripts/docs/flags-page.ts";
import { metricsPage } from "../../scripts/docs/metrics-page.ts";
import { readFlags } from "../../src/app/flags/read-flags.ts";
import { flagFields } from "../../src/app/flags/table.ts";

const root = join(import.meta.dir, "../..");
const textOf = (path: string): string => readFileSync(join(root, path), "utf8");
const markdownIn = (folder: string): readonly string[] =>
  readdirSync(join(root, folder))
    .filter((name) => name.endsWith(".md"))
    .map((name) => join(folder, name));

const generated = ["events", "features", "flags", "metrics", "provider-reference"].map(
  (name) => `docs/${name}.md`,
);
/** Written by hand and about the program as it is now. Decision records say what was so then. */
const pages = ["README.md", "CONTRIBUTING.md", "SECURITY.md", ...markdownIn("docs")].filter(
  (page) => !generated.includes(page),
);
const decisions = markdownIn("docs/decisions");

const matches = (text: string, pattern: RegExp): readonly string[] => [
  ...new Set([...text.matchAll(pattern)].map(([, found = ""]) => found)),
];

/** Of old or of one provider; a page says what to do about them. */
const notKnown = [
  ...["logtostderr", "alsologtostderr", "stderrthreshold", "log-dir", "log-file", "log-file-max-size"],
  ...["one-output", "skip-headers", "skip-log-headers", "add-dir-header", "log-backtrace-at"],
  ...["port", "address", "cloud-provider-gce-lb-src-cidrs"],
];

/** Flags that are not the manager's: whose they are, and the file that must know them where it is ours. */
const elsewhere: readonly (readonly [file: string | undefined, flags: readonly string[]])[] = [
  ["scripts/start.ts", ["nodes", "cloud-latency", "faults", "port", "until-settled", "timeout"]],
  ["scripts/cloud.ts", ["machines"]],
  ["scripts/build.ts", ["target"]],
  ["scripts/new-provider.ts", ["dir"]],
  ["scripts/bench/options.ts", ["count", "runs", "action", "output", "write"]],
  ["scripts/docs.ts", ["check", "all", "executable", "cluster"]],
  // The kubelet's, and kubectl's.
  [undefined, ["node-ip", "provider-id", "tcp", "field-selector"]],
  // curl's.
  [undefined, ["cacert"]],
  // Those that docs/differences.md says are not known.
  [undefined, notKnown],
];

/** As GitHub makes them: lower case, dashes for spaces, no punctuation. */
const anchorsOf = (path: string): readonly string[] =>
  matches(textOf(path), /^#+ (.+)$/gm).map((heading) =>
    heading
      .toLowerCase()
      .replace(/[^\w\- ]/g, "")
      .replaceAll(" ", "-"),
  );

describe.each([...pages, ...decisions])("%s", (page) => {
  const text = textOf(page);

  test("links to files and headings that are there", () => {
    const broken = matches(text, /\]\(([^)\s]+)\)/g).filter((link) => {
      if (/^[a-z]+:/.test(link)) return false;
      const [path = "", anchor] = link.split("#");
      const target = path === "" ? page : join(dirname(page), path);
      if (relative(".", target).startsWith("..") || !existsSync(join(root, target))) return true;
      return anchor !== undefined && !anchorsOf(target).includes(anchor);
    });
    expect(broken).toEqual([]);
  });

  test("has one title, and is no file of somebody's machine", () => {
    const prose = text.replaceAll(/```[\s\S]*?```/g, "");
    expect(matches(prose, /^# (.+)$/gm)).toHaveLength(1);
    expect(matches(text, /((?:\/home|\/root|\/Users|\/work)\/\S*)/g)).toEqual([]);
  });
});

describe.each(pages)("%s", (page) => {
  const text = textOf(page);

  test("names commands that package.json has", () => {
    const { scripts } = JSON.parse(textOf("package.json")) as { scripts: Readonly<Record<string, string>> };
    const named = matches(text, /\b(?:npm|bun) run ([a-z][\w:-]*)/g);
    const short = matches(text, /\bnpm (start|test)\b/g);
    expect([...named, ...short].filter((name) => !Object.hasOwn(scripts, name))).toEqual([]);
  });

  test("names flags that exist", () => {
    const known = [...Object.keys(flagFields), ...elsewhere.flatMap(([, flags]) => flags)];
    const named = matches(text, /(?<![\w-])--([a-z][a-z0-9-]*)/g);
    expect(named.filter((name) => !known.includes(name))).toEqual([]);
  });

  test("names metrics that exist", () => {
    const known = matches(metricsPage(), /^\| `([a-z_]+)`/gm);
    const named = matches(
      text,
      /\b((?:fairlead|leader_election|workqueue|rest_client|process)_[a-z_]{4,})\b/g,
    );
    const isPart = (name: string) => known.includes(name.replace(/_(?:bucket|count|sum)$/, ""));
    expect(named.filter((name) => !isPart(name))).toEqual([]);
  });

  test("names files that are there", () => {
    const named = matches(
      text,
      /`((?:src|providers|scripts|test|docs)\/[\w./-]+\.(?:ts|mjs|md)|(?:src|providers|scripts|test|docs)(?:\/[\w-]+)*)`/g,
    );
    expect(named.filter((path) => !existsSync(join(root, path)))).toEqual([]);
  });
});

test("flags that are not the manager's are known where they belong", () => {
  for (const [file, flags] of elsewhere) {
    if (file === undefined) continue;
    const source = textOf(file);
    expect(flags.filter((flag) => !source.includes(flag))).toEqual([]);
  }
});

test("each decision record has a number of its own, in its name and in its title", () => {
  const numbers = decisions.map((path) => /\/(\d{4})-[a-z0-9-]+\.md$/.exec(path)?.[1] ?? path);
  expect(numbers.filter((number, index) => numbers.indexOf(number) !== index)).toEqual([]);
  const untitled = decisions.filter((path, index) => !textOf(path).startsWith(`# ${numbers[index]} `));
  expect(untitled).toEqual([]);
});

test("each difference has a number of its own, none is missing, and each has its kind", () => {
  const rows = [...textOf("docs/differences.md").matchAll(/^\| D(\d+) \|.*$/gm)];
  const numbers = rows.map(([, number]) => Number(number)).toSorted((a, b) => a - b);
  expect(numbers).toEqual(rows.map((_, index) => index + 1));
  const kinds = /\| (?:silent|additive|changes behaviour) \|/;
  expect(rows.filter(([row]) => !kinds.test(row)).map(([row]) => row)).toEqual([]);
});

test("docs/flags.md is what the flag table says now; npm run docs makes it", () => {
  expect(textOf("docs/flags.md")).toBe(flagsPage());
});

test("docs/metrics.md is what the metrics declare now; npm run docs makes it [F84]", () => {
  expect(textOf("docs/metrics.md")).toBe(metricsPage());
});

test("flags that docs/differences.md calls unknown are refused", () => {
  const { problems } = readFlags(notKnown.map((name) => `--${name}=x`));
  expect(problems.map(({ reason, key }) => [reason, key])).toEqual(
    notKnown.map((name) => ["UnknownFlag", `--${name}`]),
  );
  expect(readFlags(["--controllers=*,tagging"]).problems[0]?.text).toContain('unknown controller "tagging"');
});

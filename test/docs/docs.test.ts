// Checks that the documents name only existing files, headings, flags, commands and metrics.

import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { flagsPage } from "../../scripts/docs/flags-page.ts";
import { withValuesTable } from "../../scripts/docs/manifest-values.ts";
import { metricsPage } from "../../scripts/docs/metrics-page.ts";
import { flagFields } from "../../src/app/flags/flag-table.ts";
import { readFlags } from "../../src/app/flags/read-flags.ts";

const root = join(import.meta.dir, "../..");
const textOf = (path: string): string => readFileSync(join(root, path), "utf8");
const markdownIn = (folder: string): readonly string[] =>
  readdirSync(join(root, folder))
    .filter((name) => name.endsWith(".md"))
    .map((name) => join(folder, name));

const generated = ["conformance-results", "events", "features", "flags", "metrics", "provider-reference"].map(
  (name) => `docs/${name}.md`,
);
/** Handwritten documents about the current program. Decision records describe the past. */
const byHand = [...markdownIn("docs"), ...markdownIn("docs/runbooks/alerts")];
const pages = [...markdownIn("."), ...byHand].filter((page) => !generated.includes(page));
const decisions = markdownIn("docs/decisions");

test("every decision record has at most 600 words", () => {
  const lengths = decisions.map((page) => [page, textOf(page).split(/\s+/).length] as const);
  expect(lengths.filter(([, words]) => words > 600)).toEqual([]);
});

const matches = (text: string, pattern: RegExp): readonly string[] => [
  ...new Set([...text.matchAll(pattern)].map(([, found = ""]) => found)),
];

/** Flags of old versions or single providers that docs/differences.md declares unknown. */
const unknownFlags = [
  ...["logtostderr", "alsologtostderr", "stderrthreshold", "log-dir", "log-file", "log-file-max-size"],
  ...["one-output", "skip-headers", "skip-log-headers", "add-dir-header", "log-backtrace-at"],
  ...["port", "address", "cloud-provider-gce-lb-src-cidrs"],
];

/** Flags of other programs, with the file that must contain them if it is in this repository. */
const elsewhere: readonly (readonly [file: string | undefined, flags: readonly string[]])[] = [
  ["scripts/start.ts", ["cloud", "nodes", "cloud-latency", "faults", "port", "until-settled", "timeout"]],
  ["scripts/rehearse.ts", ["cloud", "peer"]],
  ["scripts/cloud.ts", ["machines"]],
  ["scripts/build.ts", ["target"]],
  [
    "scripts/release/options.ts",
    ["cloud", "target", "downloads", "key", "tag", "make-key", "no-image", "lock-image"],
  ],
  ["scripts/new-provider.ts", ["dir", "hard"]],
  ["scripts/fuzz.ts", ["pump"]],
  ["scripts/bench/options.ts", ["count", "clouds", "runs", "action", "flag", "output", "json", "write"]],
  ["scripts/all-tests.ts", ["nightly"]],
  [
    "scripts/simulate.ts",
    ["volumes", "lookups", "operations", "stops", "seeds", "from", "record", "against"],
  ],
  ["scripts/docs.ts", ["check", "features", "all", "executable", "cluster"]],
  // kubeadm.
  [undefined, ["client-name"]],
  // kubelet and kubectl.
  [undefined, ["node-ip", "provider-id", "hostname-override", "tcp", "field-selector", "from-literal"]],
  // helm.
  [undefined, ["set-string"]],
  // krew and npx.
  [undefined, ["manifest-url", "package"]],
  // Sidecars of CSI, and kube-controller-manager.
  [undefined, ["csi-address", "extra-create-metadata", "leader-election", "disable-force-detach-on-timeout"]],
  // sha256sum.
  ["scripts/release/notes.ts", ["check", "ignore-missing"]],
  // systemctl, dpkg and rpm.
  [undefined, ["now", "remove", "purge", "oldpackage"]],
  // gh and cosign.
  [undefined, ["repo", "type", "certificate-identity", "certificate-oidc-issuer"]],
  // ctr.
  [undefined, ["namespace", "base-name"]],
  ["scripts/check.ts", ["fix"]],
  // curl.
  [undefined, ["cacert"]],
  // kubectl for a Node that is drained, and aws.
  [undefined, ["replicas", "patch", "ignore-daemonsets", "delete-emptydir-data", "addon-name", "preserve"]],
  [undefined, unknownFlags],
];

/** Makes an anchor as GitHub does: lower case, dashes for spaces, no punctuation. */
const anchorsOf = (path: string): readonly string[] =>
  matches(textOf(path), /^#+ (.+)$/gm).map((heading) =>
    heading
      .toLowerCase()
      .replace(/[^\w\- ]/g, "")
      .replaceAll(" ", "-"),
  );

describe.each([...pages, ...decisions])("%s", (page) => {
  const text = textOf(page);

  test("a document links only to existing files and headings", () => {
    const broken = matches(text, /\]\(([^)\s]+)\)/g).filter((link) => {
      if (/^[a-z]+:/.test(link)) return false;
      const [path = "", anchor] = link.split("#");
      const target = path === "" ? page : join(dirname(page), path);
      if (relative(".", target).startsWith("..") || !existsSync(join(root, target))) return true;
      return anchor !== undefined && !anchorsOf(target).includes(anchor);
    });
    expect(broken).toEqual([]);
  });

  test("a document has one title, and contains no path of a developer's machine", () => {
    const prose = text.replaceAll(/```[\s\S]*?```/g, "");
    expect(matches(prose, /^# (.+)$/gm)).toHaveLength(1);
    expect(matches(text, /((?:\/home|\/root|\/Users|\/work)\/\S*)/g)).toEqual([]);
  });
});

describe.each(pages)("%s", (page) => {
  const text = textOf(page);

  test("a document names only commands of package.json", () => {
    const { scripts } = JSON.parse(textOf("package.json")) as { scripts: Readonly<Record<string, string>> };
    const named = matches(text, /\b(?:npm|bun) run ([a-z][\w:-]*)/g);
    const short = matches(text, /\bnpm (start|test)\b/g);
    expect([...named, ...short].filter((name) => !Object.hasOwn(scripts, name))).toEqual([]);
  });

  test("a document names only existing flags", () => {
    const known = [...Object.keys(flagFields), ...elsewhere.flatMap(([, flags]) => flags)];
    const named = matches(text, /(?<![\w-])--([a-z][a-z0-9-]*)/g);
    expect(named.filter((name) => !known.includes(name))).toEqual([]);
  });

  test("a document names only existing metrics", () => {
    const known = matches(metricsPage(), /^\| `([a-z_]+)`/gm);
    const named = matches(
      text,
      /\b((?:fairlead|leader_election|workqueue|rest_client|process)_[a-z_]{4,})\b/g,
    );
    const isPart = (name: string) => known.includes(name.replace(/_(?:bucket|count|sum)$/, ""));
    expect(named.filter((name) => !isPart(name))).toEqual([]);
  });

  test("a document names only existing files", () => {
    const named = matches(
      text,
      /`((?:src|providers|scripts|test|docs)\/[\w./-]+\.(?:ts|mjs|md)|(?:src|providers|scripts|test|docs)(?:\/[\w-]+)*)`/g,
    );
    expect(named.filter((path) => !existsSync(join(root, path)))).toEqual([]);
  });
});

test("flags of other programs exist in their files", () => {
  for (const [file, flags] of elsewhere) {
    if (file === undefined) continue;
    const source = textOf(file);
    expect(flags.filter((flag) => !source.includes(flag))).toEqual([]);
  }
});

test("each decision record has a unique number in its name and title", () => {
  const numbers = decisions.map((path) => /\/(\d{4})-[a-z0-9-]+\.md$/.exec(path)?.[1] ?? path);
  expect(numbers.filter((number, index) => numbers.indexOf(number) !== index)).toEqual([]);
  const untitled = decisions.filter((path, index) => !textOf(path).startsWith(`# ${numbers[index]} `));
  expect(untitled).toEqual([]);
});

test("docs/README.md lists every decision record", () => {
  const listed = textOf("docs/README.md");
  expect(decisions.filter((path) => !listed.includes(path.replace("docs/", "")))).toEqual([]);
});

test("each difference has a unique number and a kind, and no number is missing", () => {
  const rows = [...textOf("docs/differences.md").matchAll(/^\| D(\d+) \|.*$/gm)];
  const numbers = rows.map(([, number]) => Number(number)).toSorted((a, b) => a - b);
  expect(numbers).toEqual(rows.map((_, index) => index + 1));
  const kinds = /\| (?:silent|additive|changes behavior) \|/;
  expect(rows.filter(([row]) => !kinds.test(row)).map(([row]) => row)).toEqual([]);
});

test("docs/flags.md is up to date; npm run docs generates it", () => {
  expect(textOf("docs/flags.md")).toBe(flagsPage());
});

test("the values in docs/kubernetes-install.md are up to date; npm run docs generates them", () => {
  const page = textOf("docs/kubernetes-install.md");
  expect(page).toBe(withValuesTable(page));
});

test("docs/metrics.md is up to date; npm run docs generates it [F84]", () => {
  expect(textOf("docs/metrics.md")).toBe(metricsPage());
});

test("flags that docs/differences.md declares unknown are rejected", () => {
  const { problems } = readFlags(unknownFlags.map((name) => `--${name}=x`));
  expect(problems.map(({ reason, key }) => [reason, key])).toEqual(
    unknownFlags.map((name) => ["UnknownFlag", `--${name}`]),
  );
  const { problems: ofController } = readFlags(["--controllers=*,node-ipam-controller"]);
  expect(ofController[0]?.text).toContain('unknown controller "node-ipam-controller"');
});

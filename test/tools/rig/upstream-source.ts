// The declarations in upstream's Go source: feature gates, metrics, members of /configz and reasons of events.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { RecordedMetric, RecordedNames } from "../../parity/upstream/recorded.ts";
import { goModule } from "./install.ts";

function textsOf(module: string, version: string, ...patterns: readonly string[]): readonly string[] {
  const root = goModule(`k8s.io/${module}`, version);
  const paths = patterns
    .flatMap((pattern) => [...new Bun.Glob(pattern).scanSync(root)])
    .filter((path) => !path.endsWith("_test.go"));
  return paths.toSorted().map((path) => readFileSync(join(root, path), "utf8"));
}

const byName = <T>(entries: Iterable<readonly [string, T]>): Readonly<Record<string, T>> =>
  Object.fromEntries([...entries].toSorted(([a], [b]) => (a < b ? -1 : 1)));

/** The state in the newest version that the source lists, for example "beta on" or "GA on locked". */
function gatesOf(version: string): RecordedNames["gates"] {
  // The packages whose gates the options of the framework register.
  const inBase = ["zpages/features", "logs/api/v1", "metrics/features"].map((folder) => `${folder}/*.go`);
  const text = [
    ...textsOf("apiserver", version, "pkg/features/*.go"),
    ...textsOf("component-base", version, ...inBase),
    ...textsOf("controller-manager", version, "pkg/features/*.go"),
  ].join("\n");
  const entries = [
    ...text.matchAll(/^\t+(\w+): (?:featuregate\.VersionedSpecs)?\{\n((?:\t+\{Version.*\n)+)/gm),
  ];
  return byName(
    entries.map(([, name = "", specs = ""]) => {
      const newest = specs.trim().split("\n").at(-1) ?? "";
      const [, stage = ""] = /PreRelease: featuregate\.(\w+)/.exec(newest) ?? [];
      const isOn = /\bDefault: true/.test(newest);
      const isLocked = newest.includes("LockToDefault: true");
      return [name, `${stage} ${isOn ? "on" : "off"}${isLocked ? " locked" : ""}`] as const;
    }),
  );
}

/** The text up to the brace that closes the one before `from`. */
function bodyFrom(text: string, from: number): string {
  let depth = 1;
  let end = from;
  for (; depth > 0 && end < text.length; end += 1) depth += { "{": 1, "}": -1 }[text[end] ?? ""] ?? 0;
  return text.slice(from, end - 1);
}

const strings = (code: string): readonly string[] =>
  [...code.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map(([literal]) => JSON.parse(literal) as string);

function bucketsOf(code: string): readonly number[] | undefined {
  const [, kind, args = ""] = /Buckets:\s*(?:\w+\.)?(\w*Buckets|\[\]float64)[({]([^)}]*)/.exec(code) ?? [];
  const numbers = args
    .replaceAll(/\/\/.*/g, "")
    .split(",")
    .filter((text) => text.trim() !== "")
    .map((text) => text.split("*").reduce((product, factor) => product * Number(factor), 1));
  const [start = 0, step = 0, count = 0] = numbers;
  if (kind === undefined) return undefined;
  if (kind === "[]float64") return numbers;
  if (kind === "DefBuckets") return [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
  const isExponential = kind === "ExponentialBuckets";
  return Array.from({ length: count }, (_, index) =>
    Number((isExponential ? start * step ** index : start + step * index).toPrecision(12)),
  );
}

function metricsIn(text: string): readonly (readonly [string, RecordedMetric])[] {
  const constants = new Map(
    [...text.matchAll(/(\w+)\s*=\s*"([^"]*)"/g)].map(([, name = "", value = ""]) => [name, value] as const),
  );
  const declared = [...text.matchAll(/\.New(Counter|Gauge|Histogram)(?:Vec|Func)?\(\s*&\w+\.\w+Opts\{/g)];
  return declared.map(({ 0: head, 1: kind = "", index }) => {
    const start = index + head.length;
    const body = bodyFrom(text, start);
    const field = (name: string): string => {
      const [, code = ""] = new RegExp(`\\b${name}:\\s*((?:[^\\n]*\\+\\s*\\n)*[^\\n]*)`).exec(body) ?? [];
      const literal = strings(code).join("");
      return literal === "" ? (constants.get(/^\w+/.exec(code)?.[0] ?? "") ?? "") : literal;
    };
    const [, stability = "ALPHA"] = /StabilityLevel:\s*\w+\.(\w+)/.exec(body) ?? [];
    const [, labels = ""] = /^\s*,\s*\[\]string\{([^}]*)\}/.exec(text.slice(start + body.length + 1)) ?? [];
    const names = labels.split(",").map((label) => label.trim());
    const metric: RecordedMetric = {
      type: kind.toLowerCase(),
      help: `[${stability}] ${field("Help")}`,
      labels: names.flatMap((code) => strings(code)[0] ?? constants.get(code) ?? []),
      ...(kind === "Histogram" && { buckets: bucketsOf(body) ?? [] }),
    };
    return [
      [field("Namespace"), field("Subsystem"), field("Name")].filter(Boolean).join("_"),
      metric,
    ] as const;
  });
}

function metricsOf(version: string): RecordedNames["metrics"] {
  const texts = [
    ...textsOf("cloud-provider", version, "app/*metrics.go", "controllers/*/*metrics.go"),
    ...textsOf("component-base", version, "metrics/prometheus/*/*.go", "metrics/prometheus/clientgo/*/*.go"),
  ];
  return byName(texts.flatMap(metricsIn));
}

/** The members of the versioned configuration, by the keys of its JSON: "Generic.LeaderElection.leaderElect". */
function configzOf(version: string): RecordedNames["configz"] {
  const text = [
    ...textsOf(
      "cloud-provider",
      version,
      "config/v1alpha1/types.go",
      "controllers/*/config/v1alpha1/types.go",
    ),
    ...textsOf("controller-manager", version, "config/v1alpha1/types.go"),
    ...textsOf("component-base", version, "config/v1alpha1/types.go"),
  ].join("\n");
  const structs = new Map(
    [...text.matchAll(/^type (\w+) struct \{\n([\s\S]*?)^\}/gm)].map(([, name = "", body = ""]) => [
      name,
      body,
    ]),
  );
  const membersOf = (type: string, prefix: string): readonly string[] =>
    [...(structs.get(type) ?? "").matchAll(/^\t(\w+)\s+(\S+)(?:\s+`json:"(\w*)[^`]*`)?/gm)].flatMap(
      ([, name = "", of = "", key = ""]) => {
        const path = `${prefix}${key === "" ? name : key}`;
        const inner = of.replace(/^\*?(\w+\.)?/, "");
        return structs.has(inner) ? membersOf(inner, `${path}.`) : [path];
      },
    );
  return membersOf("CloudControllerManagerConfiguration", "").toSorted();
}

function eventsOf(version: string): RecordedNames["events"] {
  const texts = [
    ...textsOf("cloud-provider", version, "controllers/*/*.go"),
    ...textsOf("client-go", version, "tools/leaderelection/resourcelock/*.go"),
  ];
  const reasons = texts.flatMap((text) =>
    [...text.matchAll(/\.EventType(?:Normal|Warning),\s*("?)(\w+)\1/g)].map(([, quote, word = ""]) =>
      quote === '"' ? word : (new RegExp(`${word}\\s*=\\s*"(\\w+)"`).exec(text)?.[1] ?? word),
    ),
  );
  return [...new Set(reasons)].toSorted();
}

export const sourceNames = (version: string): Omit<RecordedNames, "version" | "flags"> => ({
  gates: gatesOf(version),
  metrics: metricsOf(version),
  configz: configzOf(version),
  events: eventsOf(version),
});

/** The default of each flag in the help of a Go manager; "" for Go's zero values, which the help omits. */
export function flagsIn(help: string): RecordedNames["flags"] {
  const flags = [...help.matchAll(/^ +(?:-\w, )?--([\w-]+)(.*(?:\n {20,}.*)*)/gm)];
  return byName(
    flags.map(([, name = "", text = ""]) => {
      const [, value = ""] = /\(default (.*)\)\s*$/.exec(text) ?? [];
      return [name, value.replace(/^"(.*)"$|^\[(.*)\]$/, "$1$2")] as const;
    }),
  );
}

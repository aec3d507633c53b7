// The architecture rules that can be checked automatically, over files given as text, so that the rules can be tested. An
// import of a type counts like any other import.

export interface SourceFile {
  /** The path from the root of the repository, with slashes. */
  readonly path: string;
  readonly text: string;
}

const belowApp: readonly string[] = [
  "core",
  "platform",
  "provider",
  "runtime",
  "telemetry",
  "pki",
  "config-file",
  "kube",
  "cloud",
  "controllers",
  "volumes",
  "server",
];

/** The layers that each layer may import besides itself. A layer is a folder of `src`; `app` has two. */
export const layers: Readonly<Record<string, readonly string[]>> = {
  core: [],
  platform: ["core"],
  provider: ["core", "platform"],
  runtime: ["core", "platform"],
  kit: ["core", "provider", "runtime", "platform", "config-file"],
  telemetry: ["core", "runtime", "platform"],
  pki: ["core", "platform"],
  "config-file": ["core"],
  kube: ["core", "platform", "runtime"],
  cloud: ["core", "platform", "provider", "runtime"],
  controllers: ["core", "platform", "provider", "runtime", "cloud", "kube", "telemetry"],
  volumes: ["core", "platform", "provider", "runtime", "cloud", "kube", "telemetry", "controllers"],
  // The secure port. Its content is injected, so it does not import controllers.
  server: ["core", "platform", "pki", "kube", "telemetry", "runtime"],
  // The conformance suites decide with the same pure functions as the controllers.
  testing: ["core", "platform", "pki", "provider", "runtime", "cloud", "controllers", "volumes"],
  // Flags, configuration, composition and the report of a manager.
  app: belowApp,
  // Explains a cluster to people.
  inspect: [...belowApp, "app"],
  // The entry points for people and clients, which show the findings of `inspect`.
  "app entries": [...belowApp, "app", "inspect"],
  // The public API for provider authors.
  "index.ts": ["core", "platform", "provider", "kit"],
};

export interface Import {
  readonly specifier: string;
  /** Whether the import is erased: `import type`, `export type`, or nothing but `type` members. */
  readonly isType: boolean;
}

const statement = /^[ \t]*(?:import|export)\b([^;"'`=()]*?)\bfrom\s*["']([^"']+)["']/gm;
const bare = /(?:^[ \t]*import\s*|\bimport\(\s*|\brequire\(\s*)["']([^"']+)["']/gm;

export const importsOf = (text: string): readonly Import[] => [
  ...[...text.matchAll(statement)].map(([, names = "", specifier = ""]) => ({
    specifier,
    isType:
      /^\s*type\b/.test(names) ||
      (/^\s*\{[^}]*\}\s*$/.test(names) &&
        names
          .replace(/[{}]/g, "")
          .split(",")
          .every((name) => name.trim() === "" || name.trim().startsWith("type "))),
  })),
  ...[...text.matchAll(bare)].map(([, specifier = ""]) => ({ specifier, isType: false })),
];

/** The path that a relative import resolves to; undefined for packages. */
export function resolveImport(from: string, specifier: string): string | undefined {
  if (specifier === "#ccm") return "src/index.ts";
  if (specifier === "#ccm/testing") return "src/testing/index.ts";
  if (!specifier.startsWith(".")) return undefined;
  const parts = from.split("/").slice(0, -1);
  for (const part of specifier.split("/")) {
    if (part === "..") parts.pop();
    else if (part !== ".") parts.push(part);
  }
  return parts.join("/");
}

/** The packages that the executable may contain, or only their types. */
const packages: Readonly<Record<string, "code" | "types">> = {
  citty: "code",
  "consola/core": "code",
  yaml: "code",
  "@kubernetes/client-node": "types",
};

const isSimulator = (path: string): boolean => path.split("/")[2] === "simulator";
/** The files of `src/app` that are above `inspect`; the rest of `src/app` is below it. */
const entries: readonly string[] = ["commands", "endpoints", "process-life.ts", "run.ts"];

function layerOf(path: string): string {
  const [, folder = "", child = ""] = path.split("/");
  return folder === "app" && entries.includes(child) ? "app entries" : folder;
}

function forbiddenPackage(root: string, { specifier, isType }: Import): string | undefined {
  if (/^(?:node|bun):/.test(specifier)) return undefined;
  const allowed = root === "src" ? packages[specifier] : undefined;
  if (allowed === "code" || (allowed === "types" && isType)) return undefined;
  return allowed === "types"
    ? "only its types may be imported"
    : `${root} may import only ${root === "src" ? Object.keys(packages).join(", ") : "#ccm"} besides its own files; see docs/decisions/0003-own-code-instead-of-a-package.md`;
}

function forbiddenImport(file: SourceFile, imported: Import): string | undefined {
  const { specifier } = imported;
  const target = resolveImport(file.path, specifier);
  const violation = (why: string) => `${file.path} imports ${specifier}: ${why}`;
  const [root, folder = ""] = file.path.split("/");
  if (target === undefined) {
    const why = root === "src" || root === "providers" ? forbiddenPackage(root, imported) : undefined;
    return why === undefined ? undefined : violation(why);
  }
  if (root === "src") {
    if (!target.startsWith("src/")) return violation("src imports nothing outside src");
    const [from, to] = [layerOf(file.path), layerOf(target)];
    if (from === to) return undefined;
    if (to === "testing") return violation("src/testing is for tests and never part of an executable");
    const allowed = layers[from];
    if (allowed === undefined)
      return violation(`the folder ${from} has no layer yet; add it to the table of layers`);
    return allowed.includes(to)
      ? undefined
      : violation(`${from} may import ${allowed.join(", ") || "nothing"}`);
  }
  if (root !== "providers" || specifier === "#ccm") return undefined;
  if (target.startsWith("src/")) {
    // Simulators are not part of executables.
    if (specifier === "#ccm/testing" && isSimulator(file.path)) return undefined;
    return violation('a provider may import only "#ccm" from src; a simulator also "#ccm/testing"');
  }
  if (!target.startsWith(`providers/${folder}/`))
    return violation("a provider may import only from its own folder");
  return isSimulator(target) && !isSimulator(file.path)
    ? violation("the simulator is never part of an executable")
    : undefined;
}

/** The code without comments and the contents of strings. */
export const codeOf = (text: string): string =>
  text.replace(/\/\/[^\n]*|\/\*[\s\S]*?\*\/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'/g, (part) =>
    part.startsWith("/") ? "" : '""',
  );

const platformWords: readonly (readonly [string, RegExp])[] = [
  ["Date.now", /\bDate\.now\b/],
  ["new Date()", /\bnew Date\(\s*\)/],
  ["setTimeout", /\bsetTimeout\b/],
  ["setInterval", /\bsetInterval\b/],
  ["performance.", /\bperformance\./],
  ["Math.random", /\bMath\.random\b/],
  ["fetch", /\bglobalThis\.fetch\b|(?<![.\w#]|async )fetch\((?![^()]*\)\s*[:{])/],
  ["AbortSignal.timeout", /\bAbortSignal\.timeout\b/],
  ["crypto.subtle", /\bcrypto\.subtle\b/],
  ["crypto.randomUUID", /\bcrypto\.randomUUID\b/],
  ["Bun.file", /\bBun\.file\b/],
  ["Bun.gc", /\bBun\.gc\b/],
  ["process.env", /\bprocess\.env\b/],
];

/** Arrow functions with a body at the top level. One-line expressions are allowed. */
const topLevelArrow = /^(?:export )?const (\w+) = (?:async )?(?:<[^>]*>)?\([^=]*\)(?:: [^=]*)? => \{$/gm;

const forbiddenNames = ["utils", "util", "helpers", "helper", "common", "misc", "manager", "types"];
/** Pure files, by their name; others declare it in their header. */
const purePlan =
  /^src\/(?:controllers|volumes)\/.*(plan[^/]*|labels|addresses|evidence|provided-node-ip)\.ts$/;
const declaresPure = (text: string): boolean => /^(\/\/[^\n]*\n)*\/\/[^\n]*\bPure\b/.test(text);

const functionBody = /^(?:export )?(?:async )?function (\w+)[\s\S]*?^\}$/gm;
const localState = /^ {2}(?:let (\w+)|const (\w+)(?:: [^=]+)? = new (?:Map|Set|WeakMap)\b)/gm;

/** Whether code in the object that the function returns changes the variable. */
function isChangedLater(body: string, variable: string): boolean {
  const change = new RegExp(
    `^ {6,}.*\\b${variable}(?: [-+]?= | \\?\\?= |\\.(?:set|add|delete|clear)\\()`,
    "m",
  );
  const returned = /^ {2}return \{$[\s\S]*?^ {2}\};$/m.exec(body)?.[0] ?? "";
  const closures = [...body.matchAll(/^ {2}const (\w+) = (?:async )?\(.*=> \{$[\s\S]*?^ {2}\};$/gm)]
    .filter(([, name = ""]) => new RegExp(`\\b${name}\\b`).test(returned))
    .map(([closure]) => closure);
  return [returned, ...closures].some((code) => change.test(code));
}

/** State with a life is a class with #private fields; closures over a variable hide it. */
const closuresOverState = ({ path, text }: SourceFile): readonly string[] =>
  [...codeOf(text).matchAll(functionBody)].flatMap(([body, name]) =>
    [...body.matchAll(localState)].some(([, variable = "", collection = ""]) =>
      isChangedLater(body, variable === "" ? collection : variable),
    )
      ? [`${path}: ${name} returns closures over state, so it is a class with #private fields`]
      : [],
  );

export interface Exemptions {
  /** Maps a path to its reason. */
  readonly long?: Readonly<Record<string, string>>;
  readonly names?: Readonly<Record<string, string>>;
  /** The one file outside the platform that may read the environment. */
  readonly environment?: string;
}

const maxLines = 500;

/** A spread of a literal into a literal: its properties belong in the outer literal, each on a line. */
export const literalSpreads = ({ path, text }: SourceFile): readonly string[] =>
  [...codeOf(text).matchAll(/\.\.\.\s*\{[^\n]*/g)].map(
    ([spread]) => `${path} spreads a literal into a literal, so its properties are written out: ${spread}`,
  );

/** A paragraph of comment after code: the header of a second file in the same file. */
const laterHeader = /^(?!\/\/|#!).+\n\n(\/\/ .*)\n(?:\/\/.*\n)*\n/m;

/** All violations in a file, as messages. */
export const violationsOf = (file: SourceFile, exempt: Exemptions = {}): readonly string[] => {
  const { path, text } = file;
  const isSource = path.startsWith("src/");
  const imports = importsOf(text);
  const code = codeOf(text);
  const found: (string | undefined)[] = imports.map((each) => forbiddenImport(file, each));
  const lines = text.split("\n").length - 1;
  if (lines > maxLines && exempt.long?.[path] === undefined) {
    found.push(`${path} has ${lines} lines; the maximum is ${maxLines}`);
  }
  const name = path.split("/").at(-1)?.replace(/\.ts$/, "") ?? "";
  if (forbiddenNames.includes(name) && exempt.names?.[path] === undefined) {
    found.push(`${path}: "${name}" does not describe what is in the file`);
  }
  if (isSource) found.push(...closuresOverState(file));
  found.push(...literalSpreads(file));
  const [, header] = laterHeader.exec(text) ?? [];
  if (header !== undefined)
    found.push(`${path} has a second header, which belongs into a file or a doc comment: ${header}`);
  if (/^[ \t]*export default\b/m.test(code)) found.push(`${path} has a default export`);
  for (const [, declared = ""] of path.startsWith("test/") ? [] : code.matchAll(topLevelArrow)) {
    found.push(`${path}: ${declared} has a body, so it must be a function declaration`);
  }
  if (isSource && !/^(#![^\n]*\n)?\/[/*]/.test(text)) found.push(`${path} does not start with a comment`);
  if ((isSource && !path.startsWith("src/platform/")) || path.startsWith("providers/")) {
    for (const [word, pattern] of platformWords) {
      if (word === "process.env" && path === exempt.environment) continue;
      if (pattern.test(code)) found.push(`${path} uses ${word}, which only src/platform may use`);
    }
  }
  const isPlan = purePlan.test(path);
  if ((isPlan || declaresPure(text)) && /\basync\b|\bnew Promise\b/.test(code)) {
    found.push(`${path} is pure, so it must not be async`);
  }
  if (isPlan) {
    for (const { specifier, isType } of imports) {
      const isKube = resolveImport(path, specifier)?.startsWith("src/kube/") === true;
      if (isKube && !isType)
        found.push(`${path} is a plan, so it may import only types from kube, not ${specifier}`);
    }
  }
  return found.filter((each) => each !== undefined);
};

/** The direct child of a folder: a subfolder or a file; in `src`, a layer. */
const childOf = (folder: string, path: string): string =>
  folder === "src" ? layerOf(path) : (path.slice(folder.length + 1).split("/")[0] ?? "");

const isReachable = (
  arrows: ReadonlyMap<string, ReadonlySet<string>>,
  from: string,
  to: string,
  seen = new Set<string>(),
): boolean =>
  [...(arrows.get(from) ?? [])].some((next) => {
    if (next === to) return true;
    if (seen.has(next)) return false;
    seen.add(next);
    return isReachable(arrows, next, to, seen);
  });

/** Subfolders and files of one folder that need each other, over however many steps. */
function cyclesIn(folder: string, files: readonly SourceFile[]): readonly string[] {
  const arrows = new Map<string, Set<string>>();
  for (const { path, text } of files) {
    if (!path.startsWith(`${folder}/`)) continue;
    for (const { specifier } of importsOf(text)) {
      const target = resolveImport(path, specifier);
      if (target === undefined || !target.startsWith(`${folder}/`)) continue;
      const [from, to] = [childOf(folder, path), childOf(folder, target)];
      if (from !== to) arrows.set(from, (arrows.get(from) ?? new Set()).add(to));
    }
  }
  return [...arrows].flatMap(([from, all]) =>
    [...all]
      .filter((to) => isReachable(arrows, to, from))
      .map((to) => `${folder}: ${from} and ${to} need each other`),
  );
}

/** In every folder, arrows between its subfolders and files go one way. */
export function folderCycles(files: readonly SourceFile[]): readonly string[] {
  const folders = new Set(
    files.flatMap(({ path }) => {
      const parts = path.split("/").slice(0, -1);
      return parts.map((_, index) => parts.slice(0, index + 1).join("/"));
    }),
  );
  return [...folders].toSorted().flatMap((folder) => cyclesIn(folder, files));
}

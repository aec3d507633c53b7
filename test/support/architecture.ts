// The rules of the code base that a machine can check, over files given as text, so that the rules are tested themselves.
// Imports are read as text: a type that comes from a higher layer is a wrong arrow too.

export interface SourceFile {
  /** From the root of the repository, with slashes. */
  readonly path: string;
  readonly text: string;
}

/** What each folder of `src` may import besides itself. */
export const layers: Readonly<Record<string, readonly string[]>> = {
  core: [],
  platform: ["core"],
  provider: ["core", "platform"],
  runtime: ["core", "platform"],
  kit: ["core", "provider", "runtime", "platform"],
  telemetry: ["core", "runtime", "platform"],
  pki: ["core", "platform"],
  "config-file": ["core"],
  kube: ["core", "platform", "runtime"],
  cloud: ["core", "platform", "provider", "runtime"],
  controllers: ["core", "platform", "provider", "runtime", "cloud", "kube", "telemetry"],
  // The secure port: it is told what to show and knows no controller.
  server: ["core", "platform", "pki", "kube", "telemetry", "runtime"],
  testing: ["core", "platform", "pki", "provider", "runtime"],
  // The public face: what provider authors may import.
  "index.ts": ["core", "platform", "provider", "kit"],
};

export interface Import {
  readonly specifier: string;
  /** Erased: `import type`, `export type`, or nothing but `type` members. */
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

/** The path that a relative import leads to; undefined for packages. */
export const resolveImport = (from: string, specifier: string): string | undefined => {
  if (specifier === "#ccm") return "src/index.ts";
  if (specifier === "#ccm/testing") return "src/testing/index.ts";
  if (!specifier.startsWith(".")) return undefined;
  const parts = from.split("/").slice(0, -1);
  for (const part of specifier.split("/")) {
    if (part === "..") parts.pop();
    else if (part !== ".") parts.push(part);
  }
  return parts.join("/");
};

const isSimulator = (path: string): boolean => path.split("/")[2] === "simulator";
const layerOf = (path: string): string => path.split("/")[1] ?? "";

const wrongArrow = (file: SourceFile, { specifier }: Import): string | undefined => {
  const target = resolveImport(file.path, specifier);
  const says = (why: string) => `${file.path} imports ${specifier}: ${why}`;
  const [root, from = ""] = file.path.split("/");
  if (root === "src") {
    if (target === undefined) return undefined;
    if (!target.startsWith("src/")) return says("src imports nothing outside src");
    const to = layerOf(target);
    if (from === to) return undefined;
    if (from === "app") return to === "testing" ? says("src/testing is in no executable") : undefined;
    const allowed = layers[from];
    if (allowed === undefined) return says(`the folder ${from} has no layer yet; decide one`);
    return allowed.includes(to) ? undefined : says(`${from} may import ${allowed.join(", ") || "nothing"}`);
  }
  if (root !== "providers" || specifier === "#ccm" || target === undefined) return undefined;
  if (target.startsWith("src/")) {
    // A simulator is part of no executable.
    if (specifier === "#ccm/testing" && isSimulator(file.path)) return undefined;
    return says('a provider imports "#ccm" and nothing else of src; a simulator also "#ccm/testing"');
  }
  if (!target.startsWith(`providers/${from}/`)) return says("a provider imports only its own folder");
  return isSimulator(target) && !isSimulator(file.path)
    ? says("the simulator is in no executable")
    : undefined;
};

/** Comments and the content of strings say nothing about what runs. */
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

/** A one-line expression may be an arrow. */
const topLevelArrow = /^(?:export )?const (\w+) = (?:async )?(?:<[^>]*>)?\([^=]*\)(?:: [^=]*)? => \{$/gm;

const forbiddenNames = ["utils", "util", "helpers", "helper", "common", "misc", "manager", "types"];
/** Decides and does nothing: by its name, or because its first lines say so. */
const purePlan =
  /^src\/controllers\/.*(plan[^/]*|labels|addresses|evidence|mass-limit|provided-node-ip)\.ts$/;
const saysPure = (text: string): boolean => /^(\/\/[^\n]*\n)*\/\/[^\n]*\bPure\b/.test(text);

export interface Exemptions {
  /** Path to reason. */
  readonly long?: Readonly<Record<string, string>>;
  readonly names?: Readonly<Record<string, string>>;
  /** The one file outside the platform that may read the environment. */
  readonly environment?: string;
}

const longest = 300;

/** Everything that is wrong with one file, in words. */
export const violationsOf = (file: SourceFile, exempt: Exemptions = {}): readonly string[] => {
  const { path, text } = file;
  const isSource = path.startsWith("src/");
  const imports = importsOf(text);
  const code = codeOf(text);
  const found: (string | undefined)[] = imports.map((each) => wrongArrow(file, each));
  const lines = text.split("\n").length - 1;
  if (lines > longest && exempt.long?.[path] === undefined) {
    found.push(`${path} has ${lines} lines; ${longest} are the most`);
  }
  const name = path.split("/").at(-1)?.replace(/\.ts$/, "") ?? "";
  if (forbiddenNames.includes(name) && exempt.names?.[path] === undefined) {
    found.push(`${path}: "${name}" says nothing about what is in it`);
  }
  if (/^[ \t]*export default\b/m.test(code)) found.push(`${path} has a default export`);
  for (const [, declared = ""] of path.startsWith("test/") ? [] : code.matchAll(topLevelArrow)) {
    found.push(`${path}: ${declared} has a body, so it is a function declaration`);
  }
  if (isSource && !/^(#![^\n]*\n)?\/[/*]/.test(text)) found.push(`${path} does not begin with a comment`);
  if ((isSource && !path.startsWith("src/platform/")) || path.startsWith("providers/")) {
    for (const [word, pattern] of platformWords) {
      if (word === "process.env" && path === exempt.environment) continue;
      if (pattern.test(code)) found.push(`${path} uses ${word}, which belongs in src/platform`);
    }
  }
  const isPlan = purePlan.test(path);
  if ((isPlan || saysPure(text)) && /\basync\b|\bnew Promise\b/.test(code)) {
    found.push(`${path} only decides, so it must not be async`);
  }
  if (isPlan) {
    for (const { specifier, isType } of imports) {
      const isKube = resolveImport(path, specifier)?.startsWith("src/kube/") === true;
      if (isKube && !isType) found.push(`${path} plans and may take only types from kube, not ${specifier}`);
    }
  }
  return found.filter((each) => each !== undefined);
};

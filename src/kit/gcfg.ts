// Reads the configuration file of a Go manager as its parser gcfg does: INI with quotes, continued lines and named sections. Pure.

import { didYouMean } from "../core/did-you-mean.ts";
import type { Severity } from "../core/problem.ts";
import type { FieldKind, Fields } from "../core/settings.ts";
import type { ConfigFile, ConfigSection, ConfigValue } from "../provider/provider.ts";

/** Which sections a file may have, and which settings they contain. */
export interface GcfgOptions {
  /** The sections with single settings, as users write them, and their settings. Case is ignored. */
  readonly sections: Readonly<Record<string, Fields>>;
  /** Sections that may occur several times, each with a name: `[LoadBalancerClass "internet"]`. */
  readonly records: readonly {
    readonly section: string;
    /** The setting that contains the entries. The value `name` of an entry is the name of the section. */
    readonly setting: string;
    readonly entry: Fields;
    /** Set if the Go manager does not have this section. An unknown key in it is then an error. */
    readonly isOwn?: true;
  }[];
  /** The setting name for a key. `section` and `key` are in lower case. */
  readonly nameOf: (key: string, section: string) => string;
  /** An example line for messages. */
  readonly example: string;
  /** The Go manager ignores unknown keys and sections, so they are warnings. If unset, they are errors. */
  readonly ignoresUnknown?: true;
}

const escapes: Readonly<Record<string, string>> = { n: "\n", t: "\t", b: "\b" };

/** The keys of a file for these settings: `zone` for `label-zone` if `nameOf` says so. */
export const keysOf = (fields: Fields, nameOf: (key: string) => string): readonly string[] =>
  Object.keys(fields).flatMap(
    (name) => [name, name.replace(/^[^-]*-/, "")].find((key) => nameOf(key) === name) ?? [],
  );

/** Quotes may begin and end anywhere, and outside quotes a comment ends the value. Undefined if a quote is not closed. */
function valueIn(raw: string): string | undefined {
  let [value, kept, isQuoted] = ["", 0, false];
  for (let at = 0; at < raw.length; at++) {
    const char = raw.charAt(at);
    if (char === '"') isQuoted = !isQuoted;
    else if (char === "\\") {
      at += 1;
      value += escapes[raw.charAt(at)] ?? raw.charAt(at);
    } else if (!isQuoted && /[#;]/.test(char)) break;
    else value += char;
    // Trailing spaces count only inside quotes.
    if (isQuoted || char === '"' || !/\s/.test(char)) kept = value.length;
  }
  return isQuoted ? undefined : value.slice(0, kept);
}

interface Line {
  readonly line: number;
  readonly content: string;
}

/** A backslash at the end of a line continues it. */
function linesOf(text: string): readonly Line[] {
  const lines: { readonly line: number; readonly pieces: string[] }[] = [];
  for (const [index, raw] of text.split(/\r?\n/).entries()) {
    const pieces = lines.at(-1)?.pieces ?? [];
    const last = pieces.at(-1) ?? "";
    if (last.endsWith("\\")) pieces.splice(-1, 1, ...[last.slice(0, -1), raw].filter((one) => one !== ""));
    else lines.push({ line: index + 1, pieces: [raw] });
  }
  return lines.map(({ line, pieces }) => ({ line, content: pieces.join("").trim() }));
}

/** The boolean spellings; case is ignored. */
const booleans = new Map([
  ...["true", "yes", "on", "1"].map((word) => [word, "true"] as const),
  ...["false", "no", "off", "0"].map((word) => [word, "false"] as const),
]);

/** An empty value counts as unset, except where gcfg cannot parse it. */
const neverEmpty: readonly (FieldKind | undefined)[] = ["switch", "number", "duration"];

interface Section {
  /** The name in lower case. */
  readonly name: string;
  /** The name as written in the file. */
  readonly title: string;
  readonly fields: Fields;
  readonly target: Record<string, ConfigValue>;
  readonly isOwn: boolean;
}

/**
 * The settings of a file, with lines, its syntax errors, and settings without effect.
 *
 * @example
 * readConfigFile: (text) => readGcfg(text, {
 *   sections: { Global: config },
 *   records: [{ section: "Zone", setting: "zones", entry: zone }],
 *   nameOf: (key) => key,
 *   example: "region = north",
 *   ignoresUnknown: true,
 * })
 */
export function readGcfg(text: string, options: GcfgOptions): ConfigFile {
  const { sections, records, nameOf, example, ignoresUnknown = false } = options;
  const settings: Record<string, ConfigValue> = {};
  const entries: Record<string, (ConfigSection & { readonly values: Record<string, ConfigValue> })[]> = {};
  const problems: ConfigFile["problems"][number][] = [];
  const report = (line: number, reason: string, problem: string, severity: Severity = "error") =>
    problems.push({ severity, reason, text: problem, line });
  const ofUnknown = ignoresUnknown ? "warning" : "error";
  const tables = [
    ...Object.entries(sections),
    ...records.map(({ section, entry }) => [section, entry] as const),
  ];
  const known = tables.map(([section]) => section.toLowerCase());

  const unknownSection = (line: number, title: string, header: string): void => {
    const named = records.map(({ section }) => `[${section} "name"]`);
    const all = [...Object.keys(sections).map((section) => `[${section}]`), ...named];
    const expected = all.join(", ").replace(/, (?=[^,]*$)/, " or ");
    const problem = `section ${title} is unknown; expected ${expected}. Its settings are not read.`;
    // A misspelled section must not reset its settings to their defaults: ports would close, and load balancers become public.
    const meant = didYouMean(header, known);
    report(
      line,
      "UnknownSection",
      problem,
      meant === undefined && !known.includes(header) ? ofUnknown : "error",
    );
  };
  const hasKey =
    (key: string) =>
    ([section, fields]: readonly [string, Fields]): boolean =>
      Object.hasOwn(fields, nameOf(key.toLowerCase(), section.toLowerCase()));
  /** The key, for messages. A lone word may be a secret that belongs to the previous line, even if it ends in `=`. */
  const shown = (key: string, value: string | undefined): string =>
    /^=?$/.test(value ?? "") && !tables.some(hasKey(key)) ? "a word without a value" : key;

  const unknownKey = (
    line: number,
    key: string,
    value: string | undefined,
    { name, title, fields }: Section,
  ): void => {
    const home = Object.entries(sections).find(hasKey(key));
    const known = keysOf(fields, (one) => nameOf(one, name));
    const meant = didYouMean(key.toLowerCase(), known);
    const hint = meant === undefined ? "" : `; did you mean ${JSON.stringify(meant)}?`;
    const problem =
      home === undefined
        ? `${shown(key, value)} in ${title} is not a known setting, so it has no effect${hint}`
        : `${key} in ${title} has no effect, because it belongs in [${home[0]}]`;
    report(line, "UnknownSetting", problem, home === undefined && meant === undefined ? "warning" : "error");
  };

  const enter = (line: number, header: string, name: string | undefined): Section | undefined => {
    const title = name === undefined ? `[${header}]` : `[${header} "${name}"]`;
    const isIt = (section: string) => section.toLowerCase() === header.toLowerCase();
    const common = { name: header.toLowerCase(), title };
    const [, fields] = Object.entries(sections).find(([section]) => isIt(section)) ?? [];
    if (name === undefined && fields !== undefined)
      return { ...common, fields, target: settings, isOwn: false };
    const record = records.find(({ section }) => isIt(section));
    if (name === undefined || record === undefined) {
      unknownSection(line, title, header.toLowerCase());
      return undefined;
    }
    const { setting, entry, isOwn = false } = record;
    const target = { name: { text: name.replaceAll(/\\(.)/g, "$1"), line, title: `the name of ${title}` } };
    entries[setting] = [...(entries[setting] ?? []), { line, title, values: target }];
    return { ...common, fields: entry, target, isOwn };
  };

  const assign = (line: number, key: string, value: string | undefined, section: Section): void => {
    const { title, fields, target, isOwn } = section;
    const setting = nameOf(key.toLowerCase(), section.name);
    const { kind } = (Object.hasOwn(fields, setting) ? fields[setting] : undefined) ?? {};
    if (!Object.hasOwn(fields, setting) && ignoresUnknown && !isOwn) unknownKey(line, key, value, section);
    else if (value === undefined && kind !== "switch")
      report(line, "InvalidLine", `${shown(key, value)} has no value; expected a line such as ${example}`);
    else if (value === "" && !neverEmpty.includes(kind)) {
      if (kind !== "repeated") delete target[setting];
    } else {
      const before = kind === "repeated" ? target[setting] : undefined;
      const own = value ?? "true";
      const plain = kind === "switch" ? (booleans.get(own.toLowerCase()) ?? own) : own;
      const text = before === undefined ? plain : `${before.text}\n${plain}`;
      target[setting] = { text, line, title: `${key} in ${title}` };
    }
  };

  let hasSection = false;
  let section: Section | undefined;
  for (const { line, content } of linesOf(text)) {
    if (content === "" || /^[#;]/.test(content)) continue;
    const [, header, name] =
      /^\[\s*([\w-]+)\s*(?:"((?:[^"\\]|\\.)*)"\s*)?\]\s*(?:[#;].*)?$/.exec(content) ?? [];
    if (header !== undefined) {
      hasSection = true;
      section = enter(line, header, name);
      continue;
    }
    const [, key = "", assigned, raw = ""] = /^([\w-]+)\s*(=?)\s*(.*)$/s.exec(content) ?? [];
    const isBlank = assigned === "" && /^([#;]|$)/.test(raw);
    const value = isBlank ? undefined : valueIn(raw);
    // The line may contain a secret, so the message does not show it.
    if (key === "" || (assigned === "" && !isBlank))
      report(line, "InvalidLine", `expected a line such as ${example}`);
    else if (!isBlank && value === undefined)
      report(line, "InvalidLine", `the value of ${key} has a quote that is not closed`);
    else if (!hasSection) {
      const [first] = Object.keys(sections);
      report(line, "InvalidLine", `${shown(key, value)} must be in a section such as [${first}]`);
    } else if (section !== undefined) assign(line, key, value, section);
  }
  return { settings: { ...settings, ...entries }, problems };
}

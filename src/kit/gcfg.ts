// Reads the configuration file of a Go manager as its parser gcfg does: INI with quotes, continued lines and named sections. Pure.

import type { ConfigFile, ConfigSection, ConfigValue } from "../provider/provider.ts";

/** What the sections of a file mean. */
export interface GcfgOptions {
  /** The sections with single settings, as users write them. Upper and lower case are the same. */
  readonly sections: readonly string[];
  /** Sections that may be there several times, each time with a name: `[LoadBalancerClass "internet"]`. */
  readonly records: readonly {
    readonly section: string;
    /** The setting that has its entries. Their value `name` is the name of the section. */
    readonly setting: string;
  }[];
  /** The name of the setting for a key. `section` and `key` are in lower case. */
  readonly nameOf: (key: string, section: string) => string;
  /** Settings whose key may be repeated: each line adds an entry. */
  readonly repeatable: ReadonlySet<string>;
  /** A line, for messages. */
  readonly example: string;
}

const escapes: Readonly<Record<string, string>> = { n: "\n", t: "\t", b: "\b" };

/** Quotes may begin and end anywhere, and outside of them a comment ends the value. Undefined if a quote is not closed. */
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
    // Spaces at the end count inside of quotes only.
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
  const lines: Line[] = [];
  for (const [index, raw] of text.split(/\r?\n/).entries()) {
    const last = lines.at(-1);
    if (last?.content.endsWith("\\"))
      lines[lines.length - 1] = { ...last, content: last.content.slice(0, -1) + raw };
    else lines.push({ line: index + 1, content: raw });
  }
  return lines.map(({ line, content }) => ({ line, content: content.trim() }));
}

/**
 * The settings of a file, with lines, and its syntax errors.
 *
 * @example
 * readConfigFile: (text) => readGcfg(text, {
 *   sections: ["Global"],
 *   records: [{ section: "Zone", setting: "zones" }],
 *   nameOf: (key) => key,
 *   repeatable: new Set(["networks"]),
 *   example: "region = north",
 * })
 */
export function readGcfg(text: string, options: GcfgOptions): ConfigFile {
  const { sections, records, nameOf, repeatable, example } = options;
  const settings: Record<string, ConfigValue> = {};
  const entries: Record<string, (ConfigSection & { readonly values: Record<string, ConfigValue> })[]> = {};
  const problems: ConfigFile["problems"][number][] = [];
  const known = sections.map((one) => one.toLowerCase());
  let section = "";
  /** As the file has it. */
  let title = "";
  let target: Record<string, ConfigValue> | undefined;
  for (const { line, content } of linesOf(text)) {
    const report = (reason: string, problem: string) =>
      problems.push({ severity: "error", reason, text: problem, line });
    if (content === "" || /^[#;]/.test(content)) continue;
    const [, header, , name] =
      /^\[\s*([\w-]+)\s*("((?:[^"\\]|\\.)*)")?\s*\]\s*(?:[#;].*)?$/.exec(content) ?? [];
    if (header !== undefined) {
      section = header.toLowerCase();
      title = name === undefined ? `[${header}]` : `[${header} "${name}"]`;
      const record = records.find((one) => section === one.section.toLowerCase());
      target = settings;
      if (record !== undefined && name !== undefined) {
        target = { name: { text: name.replaceAll(/\\(.)/g, "$1"), line, title: `the name of ${title}` } };
        entries[record.setting] = [...(entries[record.setting] ?? []), { line, title, values: target }];
      } else if (!known.includes(section)) {
        target = undefined;
        const named = records.map((one) => `[${one.section} "name"]`);
        const all = [...sections.map((one) => `[${one}]`), ...named];
        const expected = all.join(", ").replace(/, (?=[^,]*$)/, " or ");
        report(
          "UnknownSection",
          `section [${header}] is unknown; expected ${expected}. Its settings are not read.`,
        );
      }
      continue;
    }
    const [, key = "", assigned, raw = ""] = /^([\w-]+)\s*(=?)\s*(.*)$/.exec(content) ?? [];
    const value = assigned === "" ? "true" : valueIn(raw);
    // The line may contain a secret, so the message does not show it.
    if (key === "" || (assigned === "" && raw !== ""))
      report("InvalidLine", `expected a line such as ${example}`);
    else if (value === undefined) report("InvalidLine", `the value of ${key} has a quote that is not closed`);
    else if (section === "") report("InvalidLine", `${key} must be in a section such as [${sections[0]}]`);
    else if (target !== undefined) {
      const setting = nameOf(key.toLowerCase(), section);
      const before = target[setting];
      const isMore = before !== undefined && repeatable.has(setting);
      const text = isMore ? `${before.text}\n${value}` : value;
      target[setting] = { text, line, title: `${key} in ${title}` };
    }
  }
  return { settings: { ...settings, ...entries }, problems };
}

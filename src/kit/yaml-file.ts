// Reads a Go manager's YAML configuration file: sections with settings, and named records.

import type { Located, LocatedEntry } from "../config-file/located.ts";
import { parseDocument } from "../config-file/parse-plain-yaml.ts";
import { didYouMean } from "../core/did-you-mean.ts";
import type { Severity } from "../core/problem.ts";
import type { Fields } from "../core/settings.ts";
import type { ConfigFile, ConfigSection, ConfigValue } from "../provider/provider.ts";
import { keysOf } from "./gcfg.ts";

/** Which keys a file may have, and which settings they contain. */
export interface YamlFileOptions {
  /** The keys with settings, as users write them, and their settings. */
  readonly sections: Readonly<Record<string, Fields>>;
  /** Keys with entries by name. The value `name` of an entry is its key. */
  readonly records: readonly {
    readonly section: string;
    /** The setting that has the entries. */
    readonly setting: string;
    readonly entry: Fields;
  }[];
  /** The setting name for a key in a section. If unset, `vm-network-name` for `vmNetworkName`. */
  nameOf?(key: string, section: string): string;
}

/** Converts `vmNetworkName` to `vm-network-name`. */
export const dashed = (key: string): string => key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

const camelCase = (name: string): string =>
  name.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase());

class YamlReader {
  readonly #options: YamlFileOptions;
  readonly problems: ConfigFile["problems"][number][] = [];

  constructor(options: YamlFileOptions) {
    this.#options = options;
  }

  read(root: Located): ConfigFile["settings"] {
    const settings: Record<string, ConfigValue | readonly ConfigSection[]> = {};
    const { sections, records } = this.#options;
    for (const { key, keyPlace, value } of this.#entriesOf(root, "the file")) {
      const record = records.find(({ section }) => section === key);
      const fields = Object.hasOwn(sections, key) ? sections[key] : undefined;
      if (record !== undefined) settings[record.setting] = this.#records(value, record);
      else if (fields !== undefined) Object.assign(settings, this.#values(value, key, fields, key));
      else
        this.#unknown(keyPlace.line, key, [
          ...Object.keys(sections),
          ...records.map(({ section }) => section),
        ]);
    }
    return settings;
  }

  #report(line: number, reason: string, text: string, severity: Severity = "error"): void {
    this.problems.push({ severity, reason, text, line });
  }

  /** A name that is nearly a known name is a typo; all other unknown names may belong to another program. */
  #unknown(line: number, key: string, known: readonly string[], where = ""): void {
    const meant = didYouMean(key, known);
    const hint = meant === undefined ? "" : `; did you mean ${JSON.stringify(meant)}?`;
    const text = `${key}${where} is not a known setting, so it has no effect${hint}`;
    this.#report(line, "UnknownSetting", text, meant === undefined ? "warning" : "error");
  }

  #entriesOf(value: Located, what: string): readonly LocatedEntry[] {
    if (value.kind === "map") return value.entries;
    // A key without a value.
    if (value.kind === "scalar" && value.value === null) return [];
    this.#report(value.place.line, "InvalidSetting", `${what} must be a mapping`);
    return [];
  }

  #records(
    value: Located,
    { section, entry }: YamlFileOptions["records"][number],
  ): readonly (ConfigSection & { readonly values: Readonly<Record<string, ConfigValue>> })[] {
    return this.#entriesOf(value, section).map(({ key, keyPlace, value: own }) => {
      const title = `${section}.${key}`;
      const name = { text: key, line: keyPlace.line, title: `the name of ${title}` };
      return { line: keyPlace.line, title, values: { name, ...this.#values(own, section, entry, title) } };
    });
  }

  #values(
    value: Located,
    section: string,
    fields: Fields,
    title: string,
  ): Readonly<Record<string, ConfigValue>> {
    const { nameOf = dashed } = this.#options;
    const values: Record<string, ConfigValue> = {};
    for (const { key, keyPlace, value: own } of this.#entriesOf(value, title)) {
      const name = nameOf(key, section);
      const { line } = own.place;
      // Keys with dashes belong to the INI format; the Go manager silently ignores them.
      if (!Object.hasOwn(fields, name) || /-/.test(key)) {
        const known = keysOf(fields, (one) => nameOf(camelCase(one), section)).map(camelCase);
        this.#unknown(
          keyPlace.line,
          key,
          known.includes(camelCase(key)) ? [camelCase(key)] : known,
          ` in ${title}`,
        );
        continue;
      }
      const text = textOf(own);
      if (text === undefined)
        this.#report(line, "InvalidSetting", `${title}.${key} must be a value, or a list of values`);
      else if (text !== "") values[name] = { text, line, title: `${title}.${key}` };
    }
    return values;
  }
}

/** The text that a flag or a variable would contain; undefined for any other value. */
function textOf(value: Located): string | undefined {
  if (value.kind === "scalar") return value.value === null ? "" : value.source;
  if (value.kind === "map") return undefined;
  const entries = value.entries.map((entry) => (entry.kind === "scalar" ? entry.source : undefined));
  return entries.every((entry) => entry !== undefined) ? entries.join(",") : undefined;
}

/**
 * The settings of a file, with lines, its syntax errors, and settings without effect.
 *
 * @example
 * readConfigFile: (text) => readYamlFile(text, {
 *   sections: { global: config },
 *   records: [{ section: "zones", setting: "zones", entry: zone }],
 * })
 */
export async function readYamlFile(text: string, options: YamlFileOptions): Promise<ConfigFile> {
  const { root, problems } = await parseDocument(text);
  const syntax = problems.map(({ place, ...problem }) => ({ ...problem, line: place.line }));
  if (root === undefined) return { settings: {}, problems: syntax };
  const reader = new YamlReader(options);
  const settings = reader.read(root);
  return { settings, problems: [...syntax, ...reader.problems] };
}

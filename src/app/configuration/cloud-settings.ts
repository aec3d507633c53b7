// Cloud settings and annotations: reads the settings strictly from flags, variables and files, and names in each problem where
// the value comes from. Pure.

import type { SetValue } from "../../cloud/credential-hint.ts";
import {
  type AnnotationTable,
  otherControllerOf,
} from "../../controllers/service/annotations/annotations.ts";
import { factKeysOf } from "../../controllers/service/desired/facts.ts";
import { hasFinalizer, hasOurConditions } from "../../controllers/service/predicates.ts";
import type { ServedClasses } from "../../controllers/service/served-classes.ts";
import { inEach, possibleValues, settingsMeant } from "../../core/certain-checks.ts";
import { type Place, type Problem, placeText } from "../../core/problem.ts";
import { readSettings } from "../../core/read-settings.ts";
import { type Fields, topLevelName, type Values } from "../../core/settings.ts";
import type { Service } from "../../kube/objects.ts";
import type { Environment } from "../../platform/environment.ts";
import type { AnyProvider } from "../../provider/provider.ts";
import type { CloudSources } from "../flags/read-flags.ts";
import { withEntryVariables } from "./entry-variables.ts";

export interface CloudSettings extends CloudSources {
  readonly environment: Environment;
  readonly cluster: string;
  /** Returns the uid of the cluster once it is known. */
  readonly clusterUID?: () => string | undefined;
}

export type SettingSources = Omit<CloudSettings, "cluster" | "clusterUID">;

/** The provider's Service annotations. A provider without annotations still gets a prefix. */
export function annotationsOf({ annotations, facts = {} }: AnyProvider): AnnotationTable<Fields> {
  return {
    ...(annotations ?? { prefix: "fairlead.dev/balancer-", fields: {} }),
    factKeys: factKeysOf(facts),
  };
}

/**
 * Explains why another controller serves the Service, from the object alone. A Service with traces of Fairlead may have a
 * retained load balancer.
 */
export function otherControllerFor(
  provider: AnyProvider,
  service: Service,
  classes: ServedClasses,
): string | undefined {
  if (hasFinalizer(service, classes) || hasOurConditions(service)) return undefined;
  return otherControllerOf(annotationsOf(provider), service)?.text;
}

/** Uses the operator's current defaults, for checks of Services without a load balancer. */
export function annotationsWithDefaults(
  provider: AnyProvider,
  settings: () => SettingSources,
): AnnotationTable<Fields> {
  return { ...annotationsOf(provider), operator: () => readConfig(provider, settings()).values };
}

/** The raw values by setting name: flags take precedence over variables, and variables over files. */
function rawConfig(
  { config }: AnyProvider,
  { environment, given, file }: SettingSources,
): Readonly<Record<string, string>> {
  const raw: Record<string, string> = { ...file };
  for (const [name, field] of Object.entries(config)) {
    const value = field.env === undefined ? undefined : environment[field.env];
    if (value !== undefined && value !== "") raw[name] = value;
  }
  return { ...withEntryVariables(config, environment, raw), ...Object.fromEntries(given) };
}

/** The source of a setting's value; undefined if the default applies. */
function originOf(
  { config }: AnyProvider,
  name: string,
  { environment, given, file }: SettingSources,
): "flag" | "variable" | "file" | undefined {
  if (given.has(name)) return "flag";
  if ((environment[config[name]?.env ?? ""] ?? "") !== "") return "variable";
  return file?.[name] === undefined ? undefined : "file";
}

/** Where a setting is set, for messages; undefined if the default applies. */
export function sourceOf(provider: AnyProvider, name: string, settings: SettingSources): string | undefined {
  const origin = originOf(provider, name, settings);
  if (origin === "flag") return "--config-set";
  if (origin === "variable") return `the variable ${provider.config[name]?.env}`;
  const place = settings.places?.get(name);
  return origin && (place === undefined ? "a configuration file" : placeText(place));
}

/** A value in a list of records and its containers, innermost first, because a missing value is reported at its entry. */
function pathsOf(key: string): readonly string[] {
  if (!key.includes("[")) return [key];
  return [key, ...[...key.matchAll(/[.[]/g)].map(({ index }) => key.slice(0, index)).toReversed()];
}

/** Where the values of a setting are set, such as those of `regions[].token`, with the names that their sources use. */
export function sourcesOf(
  provider: AnyProvider,
  name: string,
  settings: SettingSources,
): readonly SetValue[] {
  const source = sourceOf(provider, topLevelName(name), settings);
  if (source === undefined) return [];
  if (originOf(provider, topLevelName(name), settings) !== "file") return [{ name, source }];
  const inFile = [...(settings.places ?? [])].filter(([key]) => key.replaceAll(/\[\d+\]/g, "[]") === name);
  return inFile.length === 0 && !name.includes("[]")
    ? [{ name, source }]
    : inFile.map(([key, place]) => ({ name: titleOf(provider, key, settings), source: placeText(place) }));
}

/** The position of a setting's value, if it comes from a file. */
function placeOf(
  key: string | undefined,
  provider: AnyProvider,
  settings: SettingSources,
): Place | undefined {
  if (originOf(provider, topLevelName(key ?? ""), settings) !== "file") return undefined;
  return pathsOf(key ?? "").flatMap((path) => settings.places?.get(path) ?? [])[0];
}

/**
 * The name that the user knows for a setting in the file or the environment, or for a value in a list of records, even if the
 * value is missing.
 */
function titleOf(provider: AnyProvider, key: string, settings: SettingSources): string {
  const name = topLevelName(key);
  const origin = originOf(provider, name, settings);
  if (origin !== "file") return (origin === "flag" ? undefined : provider.config[name]?.env) ?? key;
  const [, section = "", own] = /^(.*\])\.([^.[]+)$/.exec(key) ?? [];
  const entry = settings.titles?.get(section);
  return settings.titles?.get(key) ?? (entry === undefined ? key : `${own} in ${entry}`);
}

/**
 * Rewrites a problem that a provider's check found. The check names a setting by its variable or its name; the message shows
 * the source of the value, and the name that the source uses. A setting with its default keeps the name from the check.
 */
export function inUsersWords<P extends Pick<Problem, "key" | "text">>(
  provider: AnyProvider,
  problem: P,
  settings: SettingSources,
): P {
  const { config } = provider;
  const { key = "" } = problem;
  /** If the problem is in a list entry, words in its text refer to the settings of that entry. */
  const ofEntry = key.includes("[") ? (config[topLevelName(key)]?.entry ?? {}) : {};
  const ofVariable = new Map(Object.entries(config).flatMap(([name, { env }]) => (env ? [[env, name]] : [])));
  // Quoted values and URLs are matched whole and stay unchanged.
  const text = problem.text.replaceAll(
    /"[^"]*"|\w+:\/\/\S+|(?<![\w./-])[A-Za-z][\w-]*/g,
    (word, at: number) => {
      // A name without a hyphen may be an ordinary word, so it counts only at the start of a text.
      const isName =
        Object.hasOwn(config, word) && !Object.hasOwn(ofEntry, word) && (at === 0 || word.includes("-"));
      const name = ofVariable.get(word) ?? (isName ? word : undefined);
      const isSet = name !== undefined && originOf(provider, name, settings) !== undefined;
      return isSet ? titleOf(provider, name, settings) : word;
    },
  );
  return { ...problem, text, place: placeOf(problem.key, provider, settings) };
}

/** Replaces names in a problem's text with the names that the file of the value uses. */
function inWordsOfFile(provider: AnyProvider, { key, text }: Problem, settings: SettingSources): string {
  if (key === undefined || originOf(provider, topLevelName(key), settings) !== "file") return text;
  if (!text.startsWith(`${key} `)) return text;
  const [, section = ""] = /^(.*\])\./.exec(key) ?? [];
  const rest = text.slice(key.length);
  // The suggestion refers to the same section.
  const short = settings.titles?.has(section) === true ? rest.replaceAll(`"${section}.`, '"') : rest;
  const other = (path: string) => titleOf(provider, path, settings);
  return titleOf(provider, key, settings) + short.replaceAll(/\b[\w-]+\[\d+\]\.[\w-]+/g, other);
}

/** Reads the settings. Problems with settings in a file have the position. */
export function readConfig(provider: AnyProvider, settings: SettingSources) {
  const raw = rawConfig(provider, settings);
  const read = readSettings(provider.config, raw, { what: "setting" });
  const { values, frozen } = read;
  const keysOf = (reason: string): readonly string[] =>
    read.problems.flatMap((problem) => (problem.reason === reason ? (problem.key ?? []) : []));
  const meant = settingsMeant([...keysOf("UnknownSetting"), ...(settings.unread ?? [])], provider.config);
  const missing = keysOf("MissingSetting").filter((key) => Object.hasOwn(provider.config, key));
  const isAbsent = (name: string) => provider.config[name]?.required === true && !(name in values);
  const possible = possibleValues(provider.config, {
    values,
    absent: [...missing, ...frozen].filter(isAbsent),
    unread: [...frozen, ...meant],
  });
  /** Names in --config-set are checked only here. */
  const contextOf = ({ reason, key }: Problem): readonly [string, string] => {
    if (reason === "UnknownSetting" && key !== undefined && settings.given.has(key))
      return ["--config-set: ", ` (settings: ${Object.keys(provider.config).join(", ")})`];
    const name = topLevelName(key ?? "");
    const isVariable = originOf(provider, name, settings) === "variable";
    return [isVariable ? `${provider.config[name]?.env}: ` : "", ""];
  };
  const problems = read.problems.flatMap((problem) => {
    const { reason, key = "", severity } = problem;
    // Settings in an unreadable line are not reported as missing.
    if (reason === "MissingSetting" && meant.has(key)) return [];
    const [prefix, suffix] = contextOf(problem);
    return {
      ...problem,
      text: `${prefix}${inWordsOfFile(provider, problem, settings)}${suffix}`,
      place: placeOf(key, provider, settings),
      // Unknown settings are errors, because nothing else reads them.
      severity: reason === "RenamedSetting" ? severity : ("error" as const),
    };
  });
  return { values, raw, problems, possible };
}

export function configProblems(provider: AnyProvider, settings: SettingSources): readonly Problem[] {
  const { problems, possible } = readConfig(provider, settings);
  const check = (values: Readonly<Record<string, unknown>>) =>
    provider.checkConfig?.(values as Values<Fields>) ?? [];
  const wrong = new Set(problems.flatMap(({ severity, key }) => (severity === "error" ? (key ?? []) : [])));
  const found = inEach(possible, check, ({ text }) => text)
    .filter(({ key = "" }) => !wrong.has(key))
    .map((problem) => inUsersWords(provider, problem, settings));
  return [...problems, ...found];
}

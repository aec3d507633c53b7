// Rules of a settings table that concern several values: values from files, exclusive settings, settings without effect, and the
// operator's defaults of annotations. Pure.

import { applicable, type Problem, type Severity } from "./problem.ts";
import { Secret } from "./secret.ts";
import type { Field, Fields, ValueFile, ValueOf, Values } from "./settings.ts";
import { quotedUrl } from "./text.ts";

/** The table with the setting `NAME-file` for each field with `file`. */
export type WithFiles<F extends Fields> = F & {
  readonly [K in keyof F & string as F[K] extends { readonly file: ValueFile }
    ? `${K}-file`
    : never]: Field<string>;
};

/** Adds the file settings, each after the setting of its value. */
export function withFiles<F extends Fields>(fields: F): WithFiles<F> {
  const entries = Object.entries<Field<unknown>>(fields).flatMap(([name, field]) => {
    if (field.file === undefined) return [[name, field] as const];
    const path: Field<string> = {
      text: `A file with the value of ${name}. A changed file is read again.`,
      expects: "a non-empty string",
      ...(field.file.env !== undefined && { env: field.file.env }),
      parse: (raw) => (raw.trim() === "" ? { wrong: "an empty string" } : { value: raw.trim() }),
    };
    return [[name, field] as const, [`${name}-file`, path] as const];
  });
  // The compiler cannot follow names that are created at run time.
  return Object.fromEntries(entries) as WithFiles<F>;
}

type AnyValues = Readonly<Record<string, unknown>>;

/** The paths of the files that contain values of the table. A value that is set directly needs no file. */
export function valueFiles(fields: Fields, values: AnyValues): readonly string[] {
  return Object.entries<Field<unknown>>(fields).flatMap(([name, { file }]) => {
    const path = values[`${name}-file`];
    const isUsed = file !== undefined && values[name] === undefined;
    return isUsed && typeof path === "string" ? [path] : [];
  });
}

/** Whether a value or the file that contains it is set. */
export function isSet<V extends object>(values: V, name: keyof V & string): boolean {
  const all = values as AnyValues;
  return all[name] !== undefined || all[`${name}-file`] !== undefined;
}

/**
 * The current value of a setting with `file`: its value, or the content of its file. Empty if neither is set. Call this in
 * `Account.fetch`, which is called again after the cloud rejected the credential.
 */
export function currentValue<V extends object>(
  values: V,
  name: keyof V & string,
  files: { file(path: string): Secret | undefined },
): Secret {
  const { [name]: value, [`${name}-file`]: path } = values as AnyValues;
  if (value instanceof Secret) return value;
  if (typeof value === "string") return new Secret(value);
  return new Secret(typeof path === "string" ? (files.file(path)?.reveal().trim() ?? "") : "");
}

const problemOf =
  (severity: Severity, reason: string) =>
  (key: string, text: string): Problem & { readonly key: string } => ({ severity, reason, key, text });

/** An invalid setting, which prevents the start, or any change by a reload, until it is corrected. */
export const settingError = problemOf("error", "InvalidSetting");
/** A questionable setting, which is reported and used as the text states. */
export const settingWarning = problemOf("warning", "InvalidSetting");
/** Like `settingError`, for a required setting that is not set. */
export const missingSetting = problemOf("error", "MissingSetting");

function isHttpUrl(value: string): boolean {
  return URL.canParse(value) && /^https?:$/.test(new URL(value).protocol);
}

/** Problems that single values do not reveal. */
export function ruleProblems(fields: Fields, values: AnyValues): readonly Problem[] {
  const titleOf = (name: string): string => fields[name]?.env ?? name;
  const areBothSet = (name: string, other: string) =>
    values[name] !== undefined && values[other] !== undefined;
  const bothSet = (name: string, other: string) => `${titleOf(name)} and ${titleOf(other)} are both set`;
  return Object.entries<Field<unknown>>(fields).flatMap(([name, field]) => {
    const { file, exclusiveWith, ineffective, urlLike } = field;
    const [title, value, path] = [titleOf(name), values[name], `${name}-file`];
    const required = `${title} or ${titleOf(path)} is required: ${file?.required}`;
    const isNoUrl = urlLike !== undefined && typeof value === "string" && !isHttpUrl(value);
    const noUrl = `${title} must be a URL${urlLike && ` such as ${urlLike}`}, got ${quotedUrl(String(value))}`;
    const unread = `${bothSet(name, path)}. The file is not read. Remove one of them`;
    return applicable(
      file?.required !== undefined && !isSet(values, name) && missingSetting(name, required),
      isNoUrl && settingError(name, noUrl),
      // The Go managers do the same.
      file !== undefined && areBothSet(name, path) && settingWarning(path, unread),
      exclusiveWith !== undefined &&
        areBothSet(name, exclusiveWith) &&
        settingError(name, `${bothSet(name, exclusiveWith)}. Remove one of them`),
      ineffective === true &&
        value !== undefined &&
        settingWarning(name, `${title} is ignored. ${field.text}`),
    );
  });
}

/** The variable that the Go manager derives from the setting's name. */
const variableOf = (prefix: string, name: string): string => prefix + name.toUpperCase().replaceAll("-", "_");

/**
 * Adds the Go manager's environment variables to these settings, if they are the setting names in upper case. A field with `env`
 * keeps its variable.
 *
 * @example
 * const config = withVariables("ACME_", { endpoint: url("URL of the API."), "node-pool": text("…", { env: "POOL" }) });
 * // ACME_ENDPOINT, POOL
 */
export function withVariables<F extends Fields>(prefix: string, fields: F): F {
  const entries = Object.entries(fields).map(([name, field]) => [
    name,
    { env: variableOf(prefix, name), ...field },
  ]);
  return Object.fromEntries(entries) as F;
}

/** The settings that are named in `defaultFrom` of annotations. */
export type OperatorDefaults<A extends Fields> = {
  readonly [K in keyof A & string as A[K] extends { readonly defaultFrom: infer N extends string }
    ? N
    : never]: Field<NonNullable<ValueOf<A[K]>>>;
};

/**
 * The settings with which an operator sets the defaults of annotations: one for each annotation with `defaultFrom`, with the same
 * values. Each variable is `env` followed by the setting name in upper case. A reload applies changes.
 *
 * @example
 * const annotations = { type: text("Type of the load balancer.", { defaultFrom: "load-balancer-type" }) };
 * const config = { ...operatorDefaults(annotations, "ACME_") };   // "load-balancer-type", ACME_LOAD_BALANCER_TYPE
 */
export function operatorDefaults<A extends Fields>(annotations: A, env: string): OperatorDefaults<A> {
  const entries = Object.entries<Field<unknown>>(annotations).flatMap(
    ([annotation, { defaultFrom, onlyWith: _, overriddenBy: __, ...field }]) => {
      if (defaultFrom === undefined) return [];
      const setting: Field<unknown> = {
        ...field,
        text: `Default for the annotation ${annotation}. ${field.text}`,
        env: variableOf(env, defaultFrom),
        reload: "live",
      };
      return [[defaultFrom, setting] as const];
    },
  );
  return Object.fromEntries(entries) as OperatorDefaults<A>;
}

/** The annotations of a Service, with the operator's defaults for missing ones. */
export function withOperatorDefaults<A extends Fields>(
  annotations: A,
  own: Values<A>,
  operator: Values<OperatorDefaults<A>>,
): Values<A> {
  const defaults: AnyValues = operator;
  const entries = Object.entries<Field<unknown>>(annotations).map(([name, { defaultFrom = "" }]) => [
    name,
    (own as AnyValues)[name] ?? defaults[defaultFrom],
  ]);
  return Object.fromEntries(entries) as Values<A>;
}

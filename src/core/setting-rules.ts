// What a table of settings says beyond single values: values from files, settings that exclude each other, settings without
// effect, and operator defaults of annotations. Pure.

import type { Problem } from "./problem.ts";
import { Secret } from "./secret.ts";
import type { Field, Fields, ValueFile, ValueOf, Values } from "./settings.ts";
import { quotedUrl } from "./text.ts";

/** The table with the setting `NAME-file` for each field with `file`. */
export type WithFiles<F extends Fields> = F & {
  readonly [K in keyof F & string as F[K] extends { readonly file: ValueFile }
    ? `${K}-file`
    : never]: Field<string>;
};

/** Adds the settings with the paths of files, each after its value. */
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
  // The compiler cannot follow names that are made at run time.
  return Object.fromEntries(entries) as WithFiles<F>;
}

type AnyValues = Readonly<Record<string, unknown>>;

/** The paths of the files that hold values of the table. A value that is set itself needs no file. */
export function valueFiles(fields: Fields, values: AnyValues): readonly string[] {
  return Object.entries<Field<unknown>>(fields).flatMap(([name, { file }]) => {
    const path = values[`${name}-file`];
    const isUsed = file !== undefined && values[name] === undefined;
    return isUsed && typeof path === "string" ? [path] : [];
  });
}

/** Whether a value is set, or the file that holds it. */
export function isSet<V extends object>(values: V, name: keyof V & string): boolean {
  const all = values as AnyValues;
  return all[name] !== undefined || all[`${name}-file`] !== undefined;
}

/**
 * The current value of a setting with `file`: its own, or the content of its file. Empty if there is neither. Call it in
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

function problem(severity: Problem["severity"], key: string, text: string): Problem {
  return { severity, reason: "InvalidSetting", key, text };
}

function isHttpUrl(value: string): boolean {
  return URL.canParse(value) && /^https?:$/.test(new URL(value).protocol);
}

/** The problems that single values do not show. */
export function ruleProblems(fields: Fields, values: AnyValues): readonly Problem[] {
  const titleOf = (name: string): string => fields[name]?.env ?? name;
  const areBothSet = (name: string, other: string) =>
    values[name] !== undefined && values[other] !== undefined;
  const bothSet = (name: string, other: string) => `${titleOf(name)} and ${titleOf(other)} are both set`;
  return Object.entries<Field<unknown>>(fields).flatMap(([name, field]) => {
    const title = titleOf(name);
    const { file, exclusiveWith, ineffective, urlLike } = field;
    const value = values[name];
    const path = `${name}-file`;
    const isMissing = file?.required !== undefined && !isSet(values, name);
    return [
      ...(isMissing
        ? [
            {
              ...problem("error", name, `${title} or ${titleOf(path)} is required: ${file.required}`),
              reason: "MissingSetting",
            },
          ]
        : []),
      ...(urlLike !== undefined && typeof value === "string" && !isHttpUrl(value)
        ? [
            problem(
              "error",
              name,
              `${title} must be a URL${urlLike && ` such as ${urlLike}`}, got ${quotedUrl(value)}`,
            ),
          ]
        : []),
      // As the Go managers do.
      ...(file !== undefined && areBothSet(name, path)
        ? [problem("warning", path, `${bothSet(name, path)}. The file is not read. Remove one of them`)]
        : []),
      ...(exclusiveWith !== undefined && areBothSet(name, exclusiveWith)
        ? [problem("error", name, `${bothSet(name, exclusiveWith)}. Remove one of them`)]
        : []),
      ...(ineffective === true && value !== undefined
        ? [problem("warning", name, `${title} is ignored. ${field.text}`)]
        : []),
    ];
  });
}

/** The settings that `defaultFrom` of annotations name. */
export type OperatorDefaults<A extends Fields> = {
  readonly [K in keyof A & string as A[K] extends { readonly defaultFrom: infer N extends string }
    ? N
    : never]: Field<NonNullable<ValueOf<A[K]>>>;
};

/**
 * The settings with which an operator sets the defaults of annotations: one for each annotation with `defaultFrom`, with the same
 * values. The variable is `env` and the name of the setting in upper case. A reload applies changes.
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
        text: `Default of the annotation ${annotation}. ${field.text}`,
        env: env + defaultFrom.toUpperCase().replaceAll("-", "_"),
        reload: "live",
      };
      return [[defaultFrom, setting] as const];
    },
  );
  return Object.fromEntries(entries) as OperatorDefaults<A>;
}

/** The annotations of a Service, with the defaults of the operator where it has none. */
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

// Removes secrets from texts: the values that this process can know, in every usual encoding, and what looks like a credential.

import { Secret } from "../../core/secret.ts";
import type { KubeObject } from "../../kube/objects.ts";
import type { Environment } from "../../platform/environment.ts";
import type { Configuration } from "../configuration/configuration.ts";
import { type AnyProvider, readConfig } from "../connect-cloud.ts";

const hidden = "[redacted]";

/** Names of settings, variables, annotations and headers that hold credentials. */
const secretName =
  /token|passw|secret|credential|authori[sz]ation|cookie|(api|access|private|client|signing)[-_.]?key/i;

export const isSecretName = (name: string): boolean => secretName.test(name);

/** Shorter values are words and numbers of any text; patterns find those that follow a name. */
const minLength = 4;

const name = String.raw`[\w./-]*(?:token|passw|secret|credential|authori[sz]ation|cookie|(?:api|access|private|client|signing)[-_.]?key)[\w./-]*`;

const patterns: readonly (readonly [RegExp, string])[] = [
  [/-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g, hidden],
  // User and password of a URL.
  [/([a-z][a-z0-9+.-]*:\/\/)[^\s/?#"'<>]*@/gi, `$1${hidden}@`],
  // Queries of URLs: signatures and keys have many names.
  [/([a-z][a-z0-9+.-]*:\/\/[^\s?"'<>]*\?)[^\s"'<>]+/gi, `$1${hidden}`],
  [/\b(Bearer|Basic)\s+[\w+/=.~-]{4,}/gi, `$1 ${hidden}`],
  [/\beyJ[\w-]{8,}\.[\w-]+\.[\w-]*/g, hidden],
  // JSON, also inside a string of JSON.
  [new RegExp(String.raw`(\\*"${name}\\*"\s*:\s*\\*")(?:[^"\\]|\\(?!"))*`, "gi"), `$1${hidden}`],
  // NAME=VALUE and NAME: VALUE. A path is no secret.
  [new RegExp(String.raw`(^|[\s,;'"({-])(${name})(=|:\s+)(?!\[|/)[^\s,;'"})\\]+`, "gim"), `$1$2$3${hidden}`],
];

function variantsOf(secret: string): readonly string[] {
  const bytes = new TextEncoder().encode(secret);
  const base64 = btoa(String.fromCharCode(...bytes));
  return [
    ...[secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1), base64],
    ...[base64.replace(/=+$/, ""), base64.replaceAll("+", "-").replaceAll("/", "_")],
  ];
}

export class Redaction {
  readonly #known = new Set<string>();

  /** A value that must not appear; each line of it too. */
  add(secret: string): void {
    for (const text of [secret, secret.trim(), ...secret.split(/\r?\n/).map((line) => line.trim())]) {
      if (text.length < minLength || /^(true|false)$/i.test(text)) continue;
      for (const variant of variantsOf(text)) this.#known.add(variant);
    }
  }

  apply(text: string): string {
    let result = text;
    // The longest first: a secret may contain another one.
    for (const secret of [...this.#known].toSorted((a, b) => b.length - a.length))
      result = result.replaceAll(secret, hidden);
    for (const [pattern, replacement] of patterns) result = result.replaceAll(pattern, replacement);
    return result;
  }
}

function secretsIn(value: unknown): readonly string[] {
  if (value instanceof Secret) return [value.reveal()];
  if (typeof value !== "object" || value === null) return [];
  return (value instanceof Map ? [...value.values()] : Object.values(value)).flatMap(secretsIn);
}

/** A setting of the table is one only if the table says so. */
const mayHoldSecret = ({ config }: AnyProvider, name: string): boolean =>
  config[name] === undefined || config[name].isSecret === true || isSecretName(name);

/** Also settings that are invalid or unknown: a token may have been written into the wrong one. */
export function addConfiguredSecrets(
  redaction: Redaction,
  provider: AnyProvider,
  { settings }: Configuration,
  environment: Environment,
): void {
  const { cloud, flags } = settings;
  const { values, raw } = readConfig(provider, { ...cloud, environment });
  // Every source counts, also one that another takes precedence over.
  const written = [
    raw,
    cloud.file ?? {},
    Object.fromEntries(cloud.given),
    Object.fromEntries(flags["config-set"] ?? []),
  ];
  const texts = [
    // A default is public.
    ...secretsIn(
      Object.entries(values).flatMap(([name, value]) => (Object.hasOwn(raw, name) ? [value] : [])),
    ),
    ...secretsIn(cloud.inputFiles),
    ...written.flatMap((source) =>
      Object.entries(source).flatMap(([name, text]) => (mayHoldSecret(provider, name) ? [String(text)] : [])),
    ),
    ...Object.entries(environment).flatMap(([name, text]) =>
      text !== undefined && isSecretName(name) ? [text] : [],
    ),
  ];
  for (const text of texts) redaction.add(text);
}

/** Values of annotations with the name of a credential: messages may quote them. */
export function addAnnotatedSecrets(redaction: Redaction, objects: readonly KubeObject[]): void {
  for (const { metadata } of objects) {
    for (const [key, text] of Object.entries(metadata.annotations ?? {}))
      if (isSecretName(key)) redaction.add(text);
  }
}

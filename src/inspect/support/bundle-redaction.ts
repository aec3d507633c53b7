// Removes secrets from texts: known values in every usual encoding, and anything that looks like a credential.

import { readConfig } from "../../app/configuration/cloud-settings.ts";
import type { Operator } from "../../app/operator.ts";
import { isSecretName, type Redaction, secretsIn } from "../../core/redaction.ts";
import type { KubeObject } from "../../kube/objects.ts";
import type { AnyProvider } from "../../provider/provider.ts";

const hidden = "[secret]";

const name = String.raw`[\w./-]*(?:token|passw|secret|credential|authori[sz]ation|cookie|(?:api|access|private|client|signing)[-_.]?key)[\w./-]*`;

const patterns: readonly (readonly [RegExp, string])[] = [
  [/-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g, hidden],
  // The user and password of a URL.
  [/([a-z][a-z0-9+.-]*:\/\/)[^\s/?#"'<>]*@/gi, `$1${hidden}@`],
  // Queries of URLs, because signatures and keys have many names.
  [/([a-z][a-z0-9+.-]*:\/\/[^\s?"'<>]*\?)[^\s"'<>]+/gi, `$1${hidden}`],
  [/\b(Bearer|Basic)\s+[\w+/=.~-]{4,}/gi, `$1 ${hidden}`],
  [/\beyJ[\w-]{8,}\.[\w-]+\.[\w-]*/g, hidden],
  // JSON, even inside a JSON string.
  [new RegExp(String.raw`(\\*"${name}\\*"\s*:\s*\\*")(?:[^"\\]|\\(?!"))*`, "gi"), `$1${hidden}`],
  // NAME=VALUE and NAME: VALUE. Paths are not secrets.
  [new RegExp(String.raw`(^|[\s,;'"({-])(${name})(=|:\s+)(?!\[|/)[^\s,;'"})\\]+`, "gim"), `$1$2$3${hidden}`],
];

/** Removes what looks like a credential. */
export function withoutCredentials(text: string): string {
  return patterns.reduce((rest, [pattern, replacement]) => rest.replaceAll(pattern, replacement), text);
}

/** A value is secret only if the settings table declares it. */
const mayHoldSecret = ({ config }: AnyProvider, name: string): boolean =>
  config[name] === undefined || config[name].isSecret === true || isSecretName(name);

/** Includes invalid and unknown settings, because a token may have been assigned to the wrong setting. */
export function addConfiguredSecrets(
  redaction: Redaction,
  { provider, configuration, platform: { environment } }: Operator,
): void {
  const { cloud, flags } = configuration.settings;
  const { values, raw } = readConfig(provider, { ...cloud, environment });
  // Includes every source, even if another one takes precedence.
  const written = [
    raw,
    cloud.file ?? {},
    Object.fromEntries(cloud.given),
    Object.fromEntries(flags["config-set"] ?? []),
  ];
  const texts = [
    // Defaults are public.
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

/** Adds values of annotations whose names look like credentials, because messages may quote them. */
export function addAnnotatedSecrets(redaction: Redaction, objects: readonly KubeObject[]): void {
  for (const { metadata } of objects) {
    for (const [key, text] of Object.entries(metadata.annotations ?? {}))
      if (isSecretName(key)) redaction.add(text);
  }
}

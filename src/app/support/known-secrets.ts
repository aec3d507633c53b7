// Collects the secrets that this process can know, so that they are removed wherever they appear.

import { Secret } from "../../core/secret.ts";
import type { KubeObject } from "../../kube/objects.ts";
import type { Environment } from "../../platform/environment.ts";
import type { Configuration } from "../configuration/configuration.ts";
import { type AnyProvider, readConfig } from "../connect-cloud.ts";
import { isSecretName, type Redaction } from "./redaction.ts";

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

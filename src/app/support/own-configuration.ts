// The configuration of this process for a support bundle: what is set and where, without the values of secrets. Pure.

import type { Environment } from "../../platform/environment.ts";
import type { Configuration } from "../configuration/configuration.ts";
import { type AnyProvider, readConfig } from "../connect-cloud.ts";
import { isSecretName } from "./redaction.ts";

/** Maps, sets and secrets as JSON. */
function plain(name: string, value: unknown): unknown {
  if (value instanceof Map)
    return name === "config-set" ? [...value.keys()] : Object.fromEntries(value as Map<string, unknown>);
  return value instanceof Set ? [...value] : value;
}

export function describeConfiguration(
  provider: AnyProvider,
  { settings, problems }: Configuration,
  environment: Environment,
): string {
  const { values } = readConfig(provider, { ...settings.cloud, environment });
  const given = Object.keys(settings.given);
  const flags = Object.entries(settings.flags).filter(([name]) => given.includes(name));
  const description = {
    provider: provider.name,
    flags: Object.fromEntries(flags.map(([name, value]) => [name, plain(name, value)])),
    controllers: [...settings.controllers],
    // A value whose name looks like a credential is hidden even if the provider does not declare it as one.
    cloud: Object.fromEntries(
      Object.entries(values).map(([name, value]) => [
        name,
        isSecretName(name) ? "[secret]" : plain(name, value),
      ]),
    ),
    // Only names: any variable may hold a credential.
    variables: Object.keys(environment).toSorted(),
    inputFiles: [...(settings.cloud.inputFiles ?? new Map()).keys()],
    problems: problems.map(({ severity, reason, text }) => ({ severity, reason, text })),
  };
  return `${JSON.stringify(description, undefined, 2)}\n`;
}

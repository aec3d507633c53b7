// What to check when the cloud rejects the credentials or refuses an operation: the settings with secrets or with their files,
// where each is set, and the missing permission. Pure.

import { everyField, type Fields, topLevelName } from "../core/settings.ts";
import type { CloudError } from "../provider/errors.ts";

/** The sentences to append to an `unauthorized` or `forbidden` error; undefined for any other. */
export type CredentialHint = (error: CloudError) => string | undefined;

/** Where a setting is set, such as "the variable FAKE_TOKEN"; undefined if it is not set. */
export type SourceOfSetting = (name: string) => string | undefined;

interface SecretSetting {
  readonly name: string;
  readonly env: string | undefined;
  readonly source: string | undefined;
}

/** "token is set by the variable FAKE_TOKEN", or how to set it. */
function describeSecrets(secrets: readonly SecretSetting[]): {
  readonly isSet: boolean;
  readonly text: string;
} {
  const set = secrets.filter(({ source }) => source !== undefined);
  if (set.length > 0) {
    return { isSet: true, text: set.map(({ name, source }) => `${name} is set by ${source}`).join(", ") };
  }
  const ways = secrets.map(({ name, env }) => {
    const key = `cloud.${name} in the --config file`;
    return `${name} is not set: set ${env === undefined ? key : `the variable ${env}, or ${key}`}`;
  });
  return { isSet: false, text: ways.join("; ") };
}

/** Undefined for a provider without secrets. */
export function credentialHint(fields: Fields, sourceOf: SourceOfSetting): CredentialHint | undefined {
  const secrets = everyField(fields)
    .filter(([, field]) => field.isSecret === true)
    .map(([name, { env }]): SecretSetting => {
      const source = sourceOf(topLevelName(name));
      const file = `${name}-file`;
      const fileSource = source === undefined && file in fields ? sourceOf(file) : undefined;
      return fileSource === undefined
        ? { name, env, source }
        : { name: file, env: undefined, source: fileSource };
    });
  if (secrets.length === 0) return undefined;
  const { isSet, text } = describeSecrets(secrets);
  return ({ kind, detail }) => {
    switch (kind) {
      case "unauthorized":
        return `${text}${isSet ? ": check that the value is valid for this endpoint" : ""}. Fairlead will retry.`;
      case "forbidden":
        return `${text}: grant these credentials the permission for ${detail.operation}. Fairlead will retry.`;
      default:
        return undefined;
    }
  };
}

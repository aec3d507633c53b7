// A hint for rejected credentials or refused operations: the settings with secrets or with their files, the source of each, and the
// missing permission.

import { everyField, type Fields, topLevelName } from "../core/settings.ts";
import type { CloudError } from "../provider/errors.ts";

/** The sentences to append to an `unauthorized` or `forbidden` error; undefined for any other error. */
export type CredentialHint = (error: CloudError) => string | undefined;

/** Where a setting is set, such as "the variable FAKE_TOKEN"; undefined if it is not set. */
export type SourceOfSetting = (name: string) => string | undefined;

interface SecretSetting {
  readonly name: string;
  readonly env: string | undefined;
  readonly source: string | undefined;
  /** The secret is in a file, which is reloaded when it changes. */
  readonly isFile: boolean;
}

/** "token is set by the variable FAKE_TOKEN", or how to set it. */
function describeSecrets(secrets: readonly SecretSetting[]): {
  readonly remedy: string;
  readonly text: string;
} {
  const set = secrets.filter(({ source }) => source !== undefined);
  if (set.length > 0) {
    const isReadOnce = set.some(({ source, isFile }) => !isFile && /^(the variable|--)/.test(source ?? ""));
    const how = isReadOnce ? "and restart the manager" : "the manager reads it again without a restart";
    return {
      remedy: `: the value was probably revoked, or is incomplete. Replace it with one of the same project or account${isReadOnce ? ", " : "; "}${how}`,
      text: set.map(({ name, source }) => `${name} is set by ${source}`).join(", "),
    };
  }
  const ways = secrets.map(({ name, env }) => {
    const key = `cloud.${name} in the --config file`;
    return `${name} is not set: set ${env === undefined ? key : `the variable ${env}, or ${key}`}`;
  });
  return { remedy: "", text: ways.join("; ") };
}

/** Undefined for a provider without secrets. `place`: where the credential is if no setting contains it. */
export function credentialHint(
  fields: Fields,
  sourceOf: SourceOfSetting,
  place?: string,
): CredentialHint | undefined {
  const inSettings = everyField(fields)
    .filter(([, field]) => field.isSecret === true)
    .map(([name, { env }]): SecretSetting => {
      const source = sourceOf(topLevelName(name));
      const file = `${name}-file`;
      const fileSource = source === undefined && file in fields ? sourceOf(file) : undefined;
      return fileSource === undefined
        ? { name, env, source, isFile: false }
        : { name: file, env: undefined, source: fileSource, isFile: true };
    });
  const secrets =
    place === undefined
      ? inSettings
      : [{ name: "The credential", env: undefined, source: place, isFile: true }];
  if (secrets.length === 0) return undefined;
  const { remedy, text } = describeSecrets(secrets);
  const subject = place === undefined ? `The setting ${text}` : text;
  return ({ kind, detail }) => {
    switch (kind) {
      case "unauthorized":
        return `${subject}${remedy}.`;
      case "forbidden":
        return `${subject}: grant these credentials the permission for ${detail.operation}.`;
      default:
        return undefined;
    }
  };
}

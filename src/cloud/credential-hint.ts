// A hint for rejected credentials, refused operations or untrusted certificates: the settings that decide, the source of each, and
// the missing permission.

import { isTlsCode, runtimeCodeOf } from "../core/error-message.ts";
import { everyField, type Fields } from "../core/settings.ts";
import type { CloudError } from "../provider/errors.ts";

/** The sentences to append to the error; undefined if the settings do not decide. */
export type CredentialHint = (error: CloudError) => string | undefined;

/** A value of a setting: the name that its source uses, and the source, such as "the variable FAKE_TOKEN". */
export interface SetValue {
  readonly name: string;
  readonly source: string;
}

/** The values of a setting: several for a setting of list entries, none if it is not set. */
export type SourcesOfSetting = (name: string) => readonly SetValue[];

interface SecretSetting {
  readonly name: string;
  readonly env: string | undefined;
  readonly source: string | undefined;
  /** True if the secret is in a file, which is reloaded when it changes. */
  readonly isFile: boolean;
}

/** Whether the certificate is not trusted. The message about a different fingerprint already names the setting. */
function isUntrusted(error: unknown): boolean {
  const code = runtimeCodeOf(error);
  return isTlsCode(code) && code !== "CERT_FINGERPRINT_DIFFERS";
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
      remedy: `: the value was probably revoked, or is incomplete. Replace it with one that is valid for the same project, account or server${isReadOnce ? ", " : "; "}${how}`,
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
  sourcesOf: SourcesOfSetting,
  place?: string,
): CredentialHint | undefined {
  const inSettings = everyField(fields)
    .filter(([, field]) => field.isSecret === true)
    .flatMap(([name, { env }]): readonly SecretSetting[] => {
      const file = `${name}-file`;
      const inFiles = file in fields ? sourcesOf(file) : [];
      const values = [
        ...sourcesOf(name).map((one) => ({ ...one, env, isFile: false })),
        ...inFiles.map((one) => ({ ...one, env: undefined, isFile: true })),
      ];
      return values.length > 0 ? values : [{ name, env, source: undefined, isFile: false }];
    });
  const trusting = ["ca-file", "thumbprint"].filter((name) => Object.hasOwn(fields, name));
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
        return isUntrusted(detail.cause) && trusting.length > 0
          ? `Or make it trusted with the setting ${trusting.join(" or ")}.`
          : undefined;
    }
  };
}

// Which settings to check when the cloud rejects the credentials. Pure.

import type { Fields } from "../core/settings.ts";

/** "Set token or FAKE_TOKEN; none is set." for the secrets of a provider's settings; undefined without any. */
export function credentialHint(fields: Fields, raw: Readonly<Record<string, string>>): string | undefined {
  const secrets = Object.entries(fields).filter(([, field]) => field.isSecret === true);
  if (secrets.length === 0) return undefined;
  const names = secrets.flatMap(([name, { env }]) => (env === undefined ? [name] : [name, env])).join(" or ");
  const isSet = secrets.some(([name]) => raw[name] !== undefined);
  return isSet ? `Check ${names}.` : `Set ${names}; none is set.`;
}

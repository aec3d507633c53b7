// Reads the user that a kubeconfig impersonates, as headers of each request. Pure.

import { type FieldReader, type Fields, isFields } from "./kubeconfig-fields.ts";

/** A key may contain a slash, which a header name may not; the API server decodes it. */
const escaped = (key: string): string =>
  encodeURIComponent(key.toWellFormed()).replace(/[()]/g, (byte) => `%${byte.charCodeAt(0).toString(16)}`);

/** Undefined if no user is impersonated. Bun joins repeated headers, so each header has a single value. */
export function impersonationHeaders(
  read: FieldReader,
  fields: Fields,
  path: string,
): Readonly<Record<string, string>> | undefined {
  const headers: Record<string, string> = {};
  const add = (header: string, key: string, values: readonly (string | undefined)[]): void => {
    const [value] = values;
    if (value !== undefined) headers[header] = value;
    if (values.length > 1) {
      read.problems.push(
        `${path}.${key} has ${values.length} values, and Fairlead can send one. Keep one, or use credentials with all of them.`,
      );
    }
  };
  add("impersonate-user", "as", [read.text(fields, "as", path)]);
  add("impersonate-uid", "as-uid", [read.text(fields, "as-uid", path)]);
  add("impersonate-group", "as-groups", read.texts(fields, "as-groups", path));
  const extra = fields["as-user-extra"] ?? {};
  if (!isFields(extra)) read.problems.push(`${path}.as-user-extra must be a mapping.`);
  else
    for (const key of Object.keys(extra))
      add(
        `impersonate-extra-${escaped(key.toLowerCase())}`,
        `as-user-extra.${key}`,
        read.texts(extra, key, `${path}.as-user-extra`),
      );
  const names = Object.keys(headers);
  if (names.length > 0 && headers["impersonate-user"] === undefined)
    read.problems.push(`${path} impersonates a uid, a group or extra fields without a user. Set "as".`);
  return names.length === 0 ? undefined : headers;
}

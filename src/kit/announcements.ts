// Finds announcements in an API's objects: values that a provider does not know, such as a new machine state, and
// deprecations.

import { messageOf } from "../core/error-message.ts";
import type { Context } from "../provider/provider.ts";

/**
 * Returns a check of one field. The check announces every other value, and ignores values that are not strings.
 *
 * @example
 * const checkStatus = knownValues(announce, "server.status", ["running", "off"]);
 * checkStatus(server.status);
 */
export function knownValues(
  announce: Context["announce"],
  field: string,
  values: readonly string[],
): (value: unknown) => void {
  const known: ReadonlySet<unknown> = new Set(values);
  return (value) => {
    if (typeof value === "string" && !known.has(value)) announce({ what: "value", name: field, text: value });
  };
}

/**
 * A function for `mapEntries` that returns each object unchanged. Errors of `look` are announced, because an object with an
 * unexpected shape must not fail the listing.
 */
export function lookedAt<T>(
  announce: Context["announce"],
  name: string,
  look: (object: T) => void,
): (object: T) => T {
  return (object) => {
    try {
      look(object);
    } catch (error) {
      announce({ what: "value", name, text: messageOf(error) });
    }
    return object;
  };
}

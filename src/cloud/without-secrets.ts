// Removes the credential from errors. Some servers and proxies repeat a rejected credential in the body of the error, and
// providers quote that body in messages.

import { Secret } from "../core/secret.ts";

/** Shorter texts could be part of any message. */
const shortest = 6;
const deepest = 4;

/** The texts in a credential, or in a signed request: themselves, and the part after a scheme such as Bearer. */
function textsIn(value: unknown, depth = 0): readonly string[] {
  if (value instanceof Secret) return textsIn(value.reveal(), depth);
  if (typeof value === "string") return [value, value.slice(value.indexOf(" ") + 1)];
  if (depth === deepest || typeof value !== "object" || value === null) return [];
  return Object.values(value).flatMap((each) => textsIn(each, depth + 1));
}

function redact(error: unknown, secrets: readonly string[]): void {
  if (!(error instanceof Error)) return;
  const without = (text: string): string =>
    secrets.reduce((rest, secret) => rest.replaceAll(secret, "***"), text);
  const { stack } = error;
  error.message = without(error.message);
  if (stack !== undefined) error.stack = without(stack);
  redact(error.cause, secrets);
}

/** Reads a response; no error of `read` contains what is in `values`. */
export async function readWithoutSecrets<T>(
  read: (response: Response) => Promise<T>,
  response: Response,
  values: readonly unknown[],
): Promise<T> {
  try {
    return await read(response);
  } catch (error) {
    const texts = values.flatMap((value) => textsIn(value)).filter((text) => text.length >= shortest);
    // The longest first: one may contain another.
    redact(
      error,
      [...new Set(texts)].toSorted((a, b) => b.length - a.length),
    );
    throw error;
  }
}

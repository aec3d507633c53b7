// Makes text from a cloud safe for messages: short, on one line, without known secrets. Other secrets may remain, so a whole
// body or header must never be shown. Pure.

const maxLength = 300;

/** Shorter secrets would remove ordinary words. */
const minSecretLength = 4;

/**
 * The text on one line, at most 300 characters, with each of the secrets replaced by `[secret]`. For messages that a provider
 * builds itself; `jsonApi` does it for all its errors.
 */
export function cutText(text: string, secrets: readonly string[] = []): string {
  // Truncated first, because the text may have any size.
  let safe = text.slice(0, 20 * maxLength);
  for (const secret of secrets) {
    if (secret.length >= minSecretLength) safe = safe.replaceAll(secret, "[secret]");
  }
  // biome-ignore lint/suspicious/noControlCharactersInRegex: it removes control characters.
  const plain = safe.replaceAll(/[\s\u0000-\u001f\u007f]+/g, " ").trim();
  return plain.length > maxLength ? `${plain.slice(0, maxLength - 1)}…` : plain;
}

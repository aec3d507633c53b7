// Makes text from a cloud short enough for messages, on one line. The framework has removed the known secrets from it. Pure.

const maxLength = 300;

/** The text on one line, at most 300 characters. For messages that a provider builds itself; `jsonApi` does it for all its errors. */
export function cutText(text: string): string {
  // Truncated first, because the text may have any size.
  const start = text.slice(0, 20 * maxLength);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: it removes control characters.
  const plain = start.replaceAll(/[\s\u0000-\u001f\u007f]+/g, " ").trim();
  return plain.length > maxLength ? `${plain.slice(0, maxLength - 1)}…` : plain;
}

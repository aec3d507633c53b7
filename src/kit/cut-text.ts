// Text from elsewhere made fit for messages: bounded, on one line, without the secrets we know. It cannot know secrets
// that nobody told it of, so bodies and headers are never shown whole.

const longest = 300;

/** Shorter ones would blot out ordinary words. */
const shortestSecret = 4;

/** What is read here is foreign and may be anything, so it is bounded before it is searched. */
export function cutText(text: string, secrets: readonly string[] = []): string {
  let safe = text.slice(0, 20 * longest);
  for (const secret of secrets) {
    if (secret.length >= shortestSecret) safe = safe.replaceAll(secret, "[secret]");
  }
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is taken out.
  const plain = safe.replaceAll(/[\s\u0000-\u001f\u007f]+/g, " ").trim();
  return plain.length > longest ? `${plain.slice(0, longest - 1)}…` : plain;
}

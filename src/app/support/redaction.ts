// Removes secrets from texts: the values that are known, in every usual encoding, and what looks like a credential. Pure.

const hidden = "[redacted]";

/** Names of settings, variables, annotations and headers that hold credentials. */
const secretName =
  /token|passw|secret|credential|authori[sz]ation|cookie|(api|access|private|client|signing)[-_.]?key/i;

export const isSecretName = (name: string): boolean => secretName.test(name);

/** Shorter values are words and numbers of any text; patterns find those that follow a name. */
const minLength = 4;

const name = String.raw`[\w./-]*(?:token|passw|secret|credential|authori[sz]ation|cookie|(?:api|access|private|client|signing)[-_.]?key)[\w./-]*`;

const patterns: readonly (readonly [RegExp, string])[] = [
  [/-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g, hidden],
  // User and password of a URL.
  [/([a-z][a-z0-9+.-]*:\/\/)[^\s/?#"'<>]*@/gi, `$1${hidden}@`],
  // Queries of URLs: signatures and keys have many names.
  [/([a-z][a-z0-9+.-]*:\/\/[^\s?"'<>]*\?)[^\s"'<>]+/gi, `$1${hidden}`],
  [/\b(Bearer|Basic)\s+[\w+/=.~-]{4,}/gi, `$1 ${hidden}`],
  [/\beyJ[\w-]{8,}\.[\w-]+\.[\w-]*/g, hidden],
  // JSON, also inside a string of JSON.
  [new RegExp(String.raw`(\\*"${name}\\*"\s*:\s*\\*")(?:[^"\\]|\\(?!"))*`, "gi"), `$1${hidden}`],
  // NAME=VALUE and NAME: VALUE. A path is no secret.
  [new RegExp(String.raw`(^|[\s,;'"({-])(${name})(=|:\s+)(?!\[|/)[^\s,;'"})\\]+`, "gim"), `$1$2$3${hidden}`],
];

function variantsOf(secret: string): readonly string[] {
  const bytes = new TextEncoder().encode(secret);
  const base64 = btoa(String.fromCharCode(...bytes));
  return [
    ...[secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1), base64],
    ...[base64.replace(/=+$/, ""), base64.replaceAll("+", "-").replaceAll("/", "_")],
  ];
}

export class Redaction {
  readonly #known = new Set<string>();

  /** A value that must not appear; each line of it too. */
  add(secret: string): void {
    for (const text of [secret, secret.trim(), ...secret.split(/\r?\n/).map((line) => line.trim())]) {
      if (text.length < minLength || /^(true|false)$/i.test(text)) continue;
      for (const variant of variantsOf(text)) this.#known.add(variant);
    }
  }

  apply(text: string): string {
    let result = text;
    // The longest first: a secret may contain another one.
    for (const secret of [...this.#known].toSorted((a, b) => b.length - a.length))
      result = result.replaceAll(secret, hidden);
    for (const [pattern, replacement] of patterns) result = result.replaceAll(pattern, replacement);
    return result;
  }
}

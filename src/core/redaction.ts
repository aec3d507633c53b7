// Removes known secrets from texts: whole and in parts, as written and in the usual encodings. Everything that leaves the process
// passes through it, so that no provider needs to remember its secrets. A text may have been cut before, so a part counts too.

import { Secret } from "./secret.ts";

const hidden = "[secret]";

/** Shorter values are words and numbers of any text. */
const shortestSecret = 6;
/** A shorter value of letters only, such as `production`, may be any word. It is easy to guess, so it protects nothing. */
const shortestWord = 12;
/** A shorter part of a secret does not help to guess the rest. */
const shortestPart = 8;
/** The length of the pieces for partial matches: every substring of `shortestPart` characters contains a whole piece. */
const piece = 4;
/** Credentials that are fetched again and again must not fill the memory. Far more than are valid at a time. */
const maxSecrets = 256;

/** Words that a user may have chosen as the beginning of a password are in ordinary texts too. */
const isWords = (text: string): boolean => !/\d|[a-z][A-Z]|[A-Z]{2}/.test(text);

function base64Of(secret: string): readonly string[] {
  const bytes = new TextEncoder().encode(secret);
  // Three alignments: the secret may be encoded together with a user name before it.
  return [0, 1, 2].flatMap((offset) => {
    const shifted = new Uint8Array(offset + bytes.length);
    shifted.set(bytes, offset);
    const text = btoa(String.fromCharCode(...shifted)).replace(/=+$/, "");
    const own = offset === 0 ? text : text.slice(offset + 1);
    return [own, own.replaceAll("+", "-").replaceAll("/", "_")];
  });
}

function hexOf(secret: string): readonly string[] {
  const hex = [...new TextEncoder().encode(secret)]
    .map((byte) => byte.toString(16).padStart(2, "0"))
    .join("");
  return [hex, hex.toUpperCase()];
}

function encodingsOf(secret: string): readonly string[] {
  const inURL = encodeURIComponent(secret);
  const inLowerCase = inURL.replace(/%../g, (code) => code.toLowerCase());
  return [
    secret,
    inURL,
    inLowerCase,
    JSON.stringify(secret).slice(1, -1),
    ...hexOf(secret),
    ...base64Of(secret),
  ];
}

/** The values of all `Secret` objects in a value. */
export function secretsIn(value: unknown): readonly string[] {
  if (value instanceof Secret) return [value.reveal()];
  if (typeof value !== "object" || value === null) return [];
  return (value instanceof Map ? [...value.values()] : Object.values(value)).flatMap(secretsIn);
}

/** The secret texts in a credential that a provider has fetched: a whole string, or strings with a secret's name. */
export function credentialTexts(value: unknown): readonly string[] {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null) return [];
  const named = Object.entries(value).flatMap(([name, text]) =>
    typeof text === "string" && isSecretName(name) ? [text] : [],
  );
  return [...secretsIn(value), ...named];
}

/** Names of settings, variables, annotations and headers that hold credentials. */
const secretName =
  /token|passw|secret|credential|authori[sz]ation|cookie|(api|access|private|client|signing)[-_.]?key/i;

export const isSecretName = (name: string): boolean => secretName.test(name);

/** Causes of causes that are cleaned; a cause may lead back to its error. */
const maxCauses = 5;

/** How often a piece is looked up in one secret. */
const maxRepeats = 4;

interface Part {
  readonly start: number;
  readonly end: number;
}

interface Place {
  readonly text: string;
  readonly at: number;
}

/** Where each piece is in an encoded secret. */
class Places {
  readonly #byPiece = new Map<string, Place[]>();
  /** Which hashes some piece has: nearly every position of a text is passed over without creating a string. */
  readonly #hashes = new Uint8Array(65_536);

  constructor(secrets: Iterable<string>) {
    for (const text of new Set([...secrets].flatMap(encodingsOf))) this.#add(text);
  }

  at(text: string, at: number): readonly Place[] {
    return this.#hashes[hashAt(text, at)] === 0 ? [] : (this.#byPiece.get(text.slice(at, at + piece)) ?? []);
  }

  #add(text: string): void {
    for (let at = 0; at + piece <= text.length; at += piece) {
      const key = text.slice(at, at + piece);
      this.#hashes[hashAt(text, at)] = 1;
      const known = this.#byPiece.get(key);
      if (known === undefined) this.#byPiece.set(key, [{ text, at }]);
      // A secret that repeats itself is found by its first places.
      else if (known.filter((place) => place.text === text).length < maxRepeats) known.push({ text, at });
    }
  }
}

function hashAt(text: string, at: number): number {
  const start = text.charCodeAt(at) * 31 + text.charCodeAt(at + 1);
  return (start * 961 + text.charCodeAt(at + 2) * 31 + text.charCodeAt(at + 3)) & 0xffff;
}

export interface RedactionOptions {
  /** The number of secrets that are remembered; the oldest is forgotten. */
  readonly limit?: number;
  /** Its secrets are removed first. */
  readonly above?: Redaction;
}

export class Redaction {
  readonly #secrets = new Set<string>();
  readonly #options: RedactionOptions;
  /** Made when it is needed. */
  #places: Places | undefined;

  constructor(secrets: Iterable<string> = [], options: RedactionOptions = {}) {
    this.#options = options;
    for (const secret of secrets) this.add(secret);
  }

  /** A value that must not appear; each line of it too. */
  add(secret: string): void {
    for (const text of new Set([secret, ...secret.split(/\r?\n/)].map((line) => line.trim()))) {
      if (text.length < (/^([A-Za-z]?[a-z]+|[A-Z]+)$/.test(text) ? shortestWord : shortestSecret)) continue;
      // A reused secret is the last to be forgotten.
      if (this.#secrets.delete(text)) this.#secrets.add(text);
      else {
        this.#secrets.add(text);
        this.#places = undefined;
      }
    }
    const { limit = maxSecrets } = this.#options;
    for (const oldest of this.#secrets) {
      if (this.#secrets.size <= limit) break;
      this.#secrets.delete(oldest);
      this.#places = undefined;
    }
  }

  /** Whether it removes the whole of this text. */
  has(secret: string): boolean {
    return this.#secrets.has(secret) || this.#options.above?.has(secret) === true;
  }

  /** The time grows with the text, whatever the number of secrets. */
  readonly apply = (whole: string): string => {
    const text = this.#options.above?.apply(whole) ?? whole;
    if (this.#secrets.size === 0) return text;
    this.#places ??= new Places(this.#secrets);
    const parts: string[] = [];
    let done = 0;
    for (let at = 0; at + piece <= text.length; at++) {
      const places = this.#places.at(text, at);
      const found = places.length === 0 ? undefined : longestPart(text, at, places, done);
      if (found === undefined) continue;
      parts.push(text.slice(done, found.start), hidden);
      done = found.end;
      at = found.end - 1;
    }
    if (done === 0) return text;
    return parts.join("") + text.slice(done);
  };

  /** Removes the secrets from an error, and from its causes. Returns the same error. */
  clean<T>(error: T, depth = 0): T {
    if (!(error instanceof Error) || depth === maxCauses) return error;
    const { message } = error;
    const clean = this.apply(message);
    if (clean !== message) {
      error.message = clean;
      // Only then, because a stack without a message holds no values, and to build it costs more than all else here.
      if (error.stack !== undefined) error.stack = this.apply(error.stack);
    }
    this.clean(error.cause, depth + 1);
    return error;
  }
}

/** The longest part of a secret around this piece of the text, not before `from`. */
function longestPart(text: string, at: number, places: readonly Place[], from: number): Part | undefined {
  let longest: Part | undefined;
  for (const { text: secret, at: inSecret } of places) {
    let before = 0;
    while (before < inSecret && at - before > from && text[at - before - 1] === secret[inSecret - before - 1])
      before++;
    let after = piece;
    while (inSecret + after < secret.length && text[at + after] === secret[inSecret + after]) after++;
    const [start, end] = [at - before, at + after];
    const length = end - start;
    const isWhole = length === secret.length;
    if (!isWhole && (length < shortestPart || isWords(text.slice(start, end)))) continue;
    if (longest === undefined || length > longest.end - longest.start) longest = { start, end };
  }
  return longest;
}

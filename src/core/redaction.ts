// Removes known secrets from texts: whole or in part, as written and in the usual encodings. All output of the process passes
// through this, so that providers need not handle their secrets. A text may already be truncated, so partial secrets count.

import { Secret } from "./secret.ts";

const hidden = "[secret]";

/** Shorter values are usually ordinary words and numbers. */
const shortestSecret = 6;
/**
 * A shorter value of letters only, such as `production`, may be an ordinary word. It is easy to guess, so it protects nothing.
 */
const shortestWord = 12;
/** A shorter part of a secret does not help to guess the rest. */
const shortestPart = 8;
/** The length of the pieces for partial matches: every substring of `shortestPart` characters contains a whole piece. */
const piece = 4;
/** Credentials that are fetched repeatedly must not fill the memory. This is far more than are valid at a time. */
const maxSecrets = 256;

/** Words that a user may have chosen as the beginning of a password occur in ordinary texts. */
const isWords = (text: string): boolean => !/\d|[a-z][A-Z]|[A-Z]{2}/.test(text);

function base64Of(secret: string): readonly string[] {
  const bytes = new TextEncoder().encode(secret);
  // Three alignments, because the secret may be encoded together with a preceding user name.
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

/** The values of all `Secret` objects within a value. */
export function secretsIn(value: unknown): readonly string[] {
  if (value instanceof Secret) return [value.reveal()];
  if (typeof value !== "object" || value === null) return [];
  return (value instanceof Map ? [...value.values()] : Object.values(value)).flatMap(secretsIn);
}

/** The secret texts in a credential that a provider fetched: a whole string, or strings with a secret's name. */
export function credentialTexts(value: unknown): readonly string[] {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null) return [];
  const named = Object.entries(value).flatMap(([name, text]) =>
    typeof text === "string" && isSecretName(name) ? [text] : [],
  );
  return [...secretsIn(value), ...named];
}

/** The names of settings, variables, annotations and headers that contain credentials. */
const secretName =
  /token|passw|secret|credential|authori[sz]ation|cookie|(api|access|private|client|signing)[-_.]?key/i;

export const isSecretName = (name: string): boolean => secretName.test(name);

/** How deep the causes of an error are cleaned, because a cause may lead back to its error. */
const maxCauses = 5;

/** How many positions of the same piece are looked up in one secret. */
const maxRepeats = 4;

interface Part {
  readonly start: number;
  readonly end: number;
}

interface Place {
  readonly text: string;
  readonly at: number;
}

/** The positions of each piece in an encoded secret. */
class Places {
  readonly #byPiece = new Map<string, Place[]>();
  /** The hashes of all pieces, so that nearly every position in a text is skipped without creating a string. */
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
      // A secret that repeats itself is found by its first positions.
      else if (known.filter((place) => place.text === text).length < maxRepeats) known.push({ text, at });
    }
  }
}

function hashAt(text: string, at: number): number {
  const start = text.charCodeAt(at) * 31 + text.charCodeAt(at + 1);
  return (start * 961 + text.charCodeAt(at + 2) * 31 + text.charCodeAt(at + 3)) & 0xffff;
}

export interface RedactionOptions {
  /** The maximum number of remembered secrets; the oldest is forgotten first. */
  readonly limit?: number;
  /** A redaction that is applied first. */
  readonly above?: Redaction;
}

export class Redaction {
  readonly #secrets = new Set<string>();
  readonly #options: RedactionOptions;
  /** Created on first use. */
  #places: Places | undefined;

  constructor(secrets: Iterable<string> = [], options: RedactionOptions = {}) {
    this.#options = options;
    for (const secret of secrets) this.add(secret);
  }

  /** Adds a value that must not appear, including each of its lines. */
  add(secret: string): void {
    for (const text of new Set([secret, ...secret.split(/\r?\n/)].map((line) => line.trim()))) {
      if (text.length < (/^([A-Za-z]?[a-z]+|[A-Z]+)$/.test(text) ? shortestWord : shortestSecret)) continue;
      // A reused secret is forgotten last.
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

  /** Whether this removes the whole text. */
  has(secret: string): boolean {
    return this.#secrets.has(secret) || this.#options.above?.has(secret) === true;
  }

  /** The time grows with the text, not with the number of secrets. */
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

  /** Removes secrets from an error and from its causes. Returns the same error. */
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

/** The longest part of a secret around this piece of the text that does not begin before `from`. */
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

// Reads the fields of a parsed kubeconfig with their expected types, and collects every problem of the file. Pure.

import { dirname, isAbsolute, join } from "node:path";

export type Fields = Readonly<Record<string, unknown>>;
export function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A cluster, user or context that has not been parsed yet. */
export interface Entry {
  readonly read: FieldReader;
  readonly fields: Fields;
  /** The position in the file, for messages. */
  readonly at: string;
}

export class FieldReader {
  /** The kubeconfig's path. */
  readonly path: string;
  /** All problems are reported together, so that one attempt is enough to correct the file. */
  readonly problems: string[] = [];

  constructor(path: string) {
    this.path = path;
  }

  /** A path, which may be relative to the folder of the file. */
  resolve(path: string | undefined): string | undefined {
    return path === undefined || isAbsolute(path) ? path : join(dirname(this.path), path);
  }

  text(fields: Fields, key: string, path: string): string | undefined {
    const value = fields[key];
    if (value === undefined || value === null || value === "") return undefined;
    if (typeof value === "string") return value;
    // YAML parses a name or token that consists of digits as a number.
    if (typeof value === "number") return String(value);
    this.problems.push(`${path}.${key} must be a string.`);
    return undefined;
  }

  /** A base64 string, decoded. */
  decoded(fields: Fields, key: string, path: string): string | undefined {
    const value = this.text(fields, key, path);
    if (value === undefined) return undefined;
    const compact = value.replace(/\s/g, "");
    if (!/^[A-Za-z0-9+/]+={0,2}$/.test(compact)) {
      this.problems.push(`${path}.${key} must be base64.`);
      return undefined;
    }
    return Buffer.from(compact, "base64").toString("utf8");
  }

  flag(fields: Fields, key: string, path: string): boolean {
    const value = fields[key];
    if (value === undefined || value === null) return false;
    if (typeof value !== "boolean") this.problems.push(`${path}.${key} must be true or false.`);
    return value === true;
  }

  texts(fields: Fields, key: string, path: string): readonly string[] {
    const value = fields[key];
    if (value === undefined || value === null) return [];
    const isPlain = (one: unknown) =>
      typeof one === "string" || typeof one === "number" || typeof one === "boolean";
    if (Array.isArray(value) && value.every(isPlain)) return value.map(String);
    this.problems.push(`${path}.${key} must be a list of strings.`);
    return [];
  }

  /** Adds the entries of a list, which have a name and a body under `inner`. The first entry with a name wins. */
  addNamed(entries: Map<string, Entry>, fields: Fields, key: string, inner: string): void {
    const list = fields[key] ?? [];
    if (!Array.isArray(list)) {
      this.problems.push(`${key} must be a list.`);
      return;
    }
    for (const [index, entry] of list.entries()) {
      const at = `${key}[${index}]`;
      const name = isFields(entry) ? this.text(entry, "name", at) : undefined;
      const body = isFields(entry) ? (entry[inner] ?? {}) : undefined;
      if (name === undefined || !isFields(body)) {
        this.problems.push(`${at} must have a name and a ${inner}.`);
      } else if (!entries.has(name)) {
        entries.set(name, { read: this, fields: body, at: `${key}[${name}].${inner}` });
      }
    }
  }
}

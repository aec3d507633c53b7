// Reads the fields of a parsed document with their expected types, and collects every problem.

export type Fields = Readonly<Record<string, unknown>>;
export function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export class FieldReader {
  /** All of them are reported at once, so that one attempt is enough to correct the file. */
  readonly problems: string[] = [];

  text(fields: Fields, key: string, path: string): string | undefined {
    const value = fields[key];
    if (value === undefined || value === null || value === "") return undefined;
    if (typeof value === "string") return value;
    // YAML parses a name or a token that has only digits as a number.
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

  texts(fields: Fields, key: string, path: string): string[] {
    const value = fields[key];
    if (value === undefined || value === null) return [];
    if (Array.isArray(value)) return value.map(String);
    this.problems.push(`${path}.${key} must be a list.`);
    return [];
  }

  /** A list of entries with a name and a body under `inner`. As in Go, the first of two entries with one name wins. */
  named<T>(
    fields: Fields,
    key: string,
    inner: string,
    read: (fields: Fields, path: string) => T | undefined,
  ): Map<string, T> {
    const found = new Map<string, T>();
    const list = fields[key];
    if (list === undefined || list === null) return found;
    if (!Array.isArray(list)) {
      this.problems.push(`${key} must be a list.`);
      return found;
    }
    for (const [index, entry] of list.entries()) {
      const path = `${key}[${index}]`;
      const name = isFields(entry) ? this.text(entry, "name", path) : undefined;
      const body = isFields(entry) ? (entry[inner] ?? {}) : undefined;
      if (name === undefined || !isFields(body)) {
        this.problems.push(`${path} must have a name and a ${inner}.`);
        continue;
      }
      const value = read(body, `${key}[${name}].${inner}`);
      if (value !== undefined && !found.has(name)) found.set(name, value);
    }
    return found;
  }
}

// Reads fields of a parsed document one by one, each as what it must be, and notes what is wrong with it. Pure; it knows
// nothing of what the document is about.

export type Fields = Readonly<Record<string, unknown>>;
export function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Collects problems while it reads, so that one look at the log is enough to mend the file. */
export function createReader(problems: string[]) {
  const text = (fields: Fields, key: string, path: string): string | undefined => {
    const value = fields[key];
    if (value === undefined || value === null || value === "") return undefined;
    if (typeof value === "string") return value;
    // A name or token of digits only is a number in YAML.
    if (typeof value === "number") return String(value);
    problems.push(`${path}.${key} must be text.`);
    return undefined;
  };
  const decoded = (fields: Fields, key: string, path: string): string | undefined => {
    const value = text(fields, key, path);
    if (value === undefined) return undefined;
    const compact = value.replace(/\s/g, "");
    if (!/^[A-Za-z0-9+/]+={0,2}$/.test(compact)) {
      problems.push(`${path}.${key} must be base64.`);
      return undefined;
    }
    return Buffer.from(compact, "base64").toString("utf8");
  };
  const flag = (fields: Fields, key: string, path: string): boolean => {
    const value = fields[key];
    if (value === undefined || value === null) return false;
    if (typeof value !== "boolean") problems.push(`${path}.${key} must be true or false.`);
    return value === true;
  };
  const texts = (fields: Fields, key: string, path: string): string[] => {
    const value = fields[key];
    if (value === undefined || value === null) return [];
    if (Array.isArray(value)) return value.map(String);
    problems.push(`${path}.${key} must be a list.`);
    return [];
  };
  const named = <T>(
    fields: Fields,
    key: string,
    inner: string,
    read: (fields: Fields, path: string) => T | undefined,
  ): Map<string, T> => {
    const found = new Map<string, T>();
    const list = fields[key];
    if (list === undefined || list === null) return found;
    if (!Array.isArray(list)) {
      problems.push(`${key} must be a list.`);
      return found;
    }
    for (const [index, entry] of list.entries()) {
      const path = `${key}[${index}]`;
      const name = isFields(entry) ? text(entry, "name", path) : undefined;
      const body = isFields(entry) ? (entry[inner] ?? {}) : undefined;
      if (name === undefined || !isFields(body)) {
        problems.push(`${path} must have a name and a ${inner}.`);
        continue;
      }
      const value = read(body, `${key}[${name}].${inner}`);
      // Go keeps the first of two with one name.
      if (value !== undefined && !found.has(name)) found.set(name, value);
    }
    return found;
  };
  return { text, decoded, flag, texts, named };
}

export type Reader = ReturnType<typeof createReader>;

// Paths inside a JSON document (RFC 6901). Pure.

export function jsonPointer(...parts: readonly (string | number)[]): string {
  return parts.map((part) => `/${String(part).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}

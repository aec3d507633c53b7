// The code of an error from the runtime, which tells kinds of failure apart: messages differ from version to version.

/** Empty where there is none. */
export function codeOf(error: unknown): string {
  if (typeof error !== "object" || error === null) return "";
  const { code } = error as { readonly code?: unknown };
  return typeof code === "string" ? code : "";
}

// The message and code of any thrown value. Pure.

/** A running manager's reaction to the error; undefined if it does not react. */
export function promiseOf(error: unknown): string | undefined {
  if (typeof error !== "object" || error === null) return undefined;
  const { promise } = error as { readonly promise?: unknown };
  return typeof promise === "string" ? promise : undefined;
}

/** The problem, without a running manager's reaction and without the runtime's advice to programmers. */
export const textOf = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).replace(
    / For more information, pass `verbose: true`.*$/s,
    "",
  );

/** The whole message, for a running manager. */
export function messageOf(error: unknown): string {
  const promise = promiseOf(error);
  return promise === undefined ? textOf(error) : `${textOf(error)} ${promise}`;
}

/** Code and message on one line, without repetition. */
export function describeError(error: unknown): string {
  const [code, message] = [runtimeCodeOf(error), messageOf(error)];
  return code === "" || message.includes(code) ? message : `${code} ${message}`;
}

const tls = /TLS|SSL|CERT|X509|PEM|BORING|SELF_SIGNED|HOSTNAME|UNABLE_TO|CA$/;

/** Whether a runtime error's code names a TLS failure, such as an untrusted certificate. */
export const isTlsCode = (code: string): boolean => tls.test(code);

/**
 * The `code` of a runtime error, such as `ECONNREFUSED`; empty if it has none. Messages differ between
 * versions, but codes do not.
 */
export function runtimeCodeOf(error: unknown): string {
  if (typeof error !== "object" || error === null) return "";
  const { code } = error as { readonly code?: unknown };
  return typeof code === "string" ? code : "";
}

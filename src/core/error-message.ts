// The message and the code of anything that was thrown. Pure.

/** What a running manager does after the error; undefined if it does nothing. */
export function promiseOf(error: unknown): string | undefined {
  if (typeof error !== "object" || error === null) return undefined;
  const { promise } = error as { readonly promise?: unknown };
  return typeof promise === "string" ? promise : undefined;
}

/** What is wrong, without what a running manager does about it, and without advice of the runtime to programmers. */
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

/** Whether the code of a runtime error names a failure of TLS, such as a certificate that is not trusted. */
export const isTlsCode = (code: string): boolean => tls.test(code);

/** The `code` of a runtime error, such as `ECONNREFUSED`; empty without one. Messages differ between versions, codes do not. */
export function runtimeCodeOf(error: unknown): string {
  if (typeof error !== "object" || error === null) return "";
  const { code } = error as { readonly code?: unknown };
  return typeof code === "string" ? code : "";
}

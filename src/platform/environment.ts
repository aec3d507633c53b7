// The environment variables, the host name and the arguments of the process. Nothing else reads them.

import { homedir, hostname } from "node:os";
import { delimiter } from "node:path";

export type Environment = Readonly<Record<string, string | undefined>>;

export const systemEnvironment = (): Environment => process.env;

/** Windows does not set HOME. */
export const windowsHome = (): string | undefined => (process.platform === "win32" ? homedir() : undefined);

/** Separates the paths in a variable such as KUBECONFIG. */
export const pathSeparator: string = delimiter;

export const systemHostname = (): string => hostname();

export const systemArguments = (): readonly string[] => process.argv.slice(2);

/** The name or path with which the program was started; a link keeps its own name. */
export const systemProgram = (): string => process.argv0;

/** Removes variables that Bun itself would read on the first request. */
export function removeVariables(names: readonly string[]): void {
  for (const name of names) {
    // Bun may have read the variable already. Bun notices a new value, but not a deletion.
    process.env[name] = "";
    delete process.env[name];
  }
}

/** Excludes loopback from the proxy variables, as in Go. Bun would use the proxy. */
export function keepLoopbackDirect(): void {
  const present = process.env["NO_PROXY"] ?? process.env["no_proxy"];
  process.env["NO_PROXY"] = [present, "127.0.0.1", "localhost", "::1"].filter(Boolean).join(",");
}

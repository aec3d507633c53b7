// The environment the process was started in, as values. Nothing else reads variables; whoever needs one is given it.

import { hostname } from "node:os";

export type Environment = Readonly<Record<string, string | undefined>>;

export const systemEnvironment = (): Environment => process.env;

export const systemHostname = (): string => hostname();

export const systemArguments = (): readonly string[] => process.argv.slice(2);

/** Bun reads some variables itself, at the first request: these it must not find. */
export function forgetVariables(names: readonly string[]): void {
  for (const name of names) {
    // Bun may have taken it over already: it hears of another value, but not that there is none any more.
    process.env[name] = "";
    delete process.env[name];
  }
}

/** Bun sends even loopback through a proxy named by the environment; Go does not, and neither do we. */
export function keepLoopbackDirect(): void {
  const present = process.env["NO_PROXY"] ?? process.env["no_proxy"];
  process.env["NO_PROXY"] = [present, "127.0.0.1", "localhost", "::1"].filter(Boolean).join(",");
}

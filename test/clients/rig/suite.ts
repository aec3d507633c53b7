// A suite: the clients of one cloud, and their simulated cloud.

import type { Results } from "./results.ts";

/** An installed client. It prints a line for each step, and finally the numbers ` 3 pass` and ` 0 fail`. */
export interface PreparedClient {
  readonly name: string;
  readonly command: readonly string[];
}

/** The simulated cloud, reached over loopback. */
export interface ClientWorld extends AsyncDisposable {
  /** The environment of the client that starts next. */
  env(client: string): Readonly<Record<string, string>>;
  /** Checks that follow from what this client did. */
  after?(client: string): Promise<void>;
  /** Checks that follow from what all clients did. */
  finish?(): void;
}

export interface ClientSuite {
  /** Clients by name. Each installs its client, and throws Unavailable if that is not possible. */
  readonly clients: Readonly<Record<string, () => PreparedClient>>;
  /** Clients that take minutes: they run with --nightly, or by name. */
  readonly nightly?: readonly string[];
  readonly start: (results: Results, options: SuiteOptions) => Promise<ClientWorld>;
}

export interface SuiteOptions {
  /** True if results are written to the docs instead of being compared with them. */
  readonly isWriting: boolean;
}

// A suite: the clients of one cloud, and the simulated cloud that they use.

import type { Results } from "./results.ts";

/** A client that is installed. It prints a line for each step, and at last the numbers ` 3 pass` and ` 0 fail`. */
export interface PreparedClient {
  readonly name: string;
  readonly command: readonly string[];
}

/** The simulated cloud, reached over loopback. */
export interface ClientWorld extends AsyncDisposable {
  /** The environment of this client, which starts next. */
  env(client: string): Readonly<Record<string, string>>;
  /** Checks that follow from what this client did. */
  after?(client: string): Promise<void>;
  /** Checks that follow from what all clients did. */
  finish?(): void;
}

export interface ClientSuite {
  /** By name. Each installs its client, and throws Unavailable where that is not possible. */
  readonly clients: Readonly<Record<string, () => PreparedClient>>;
  /** Those that take minutes: they run with --nightly, or by their name. */
  readonly nightly?: readonly string[];
  readonly start: (results: Results, options: SuiteOptions) => Promise<ClientWorld>;
}

export interface SuiteOptions {
  /** Measured results are written to the docs instead of compared with them. */
  readonly isWriting: boolean;
}

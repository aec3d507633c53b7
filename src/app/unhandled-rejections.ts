// Logs promises whose rejection no code handles: a bug, in most cases of a provider that waits for one of several requests. The call of which
// they are a part has ended with its own error and is retried, so a manager does not end. A command that runs once does.

import { messageOf } from "../core/error-message.ts";
import type { Log } from "../telemetry/log.ts";

export class UnhandledRejections {
  #count = 0;
  #log: Log | undefined;

  get count(): number {
    return this.#count;
  }

  logTo(log: Log): void {
    this.#log = log;
  }

  /** Returns whether the process continues. */
  readonly add = (error: unknown): boolean => {
    this.#count += 1;
    this.#log?.error(
      `Internal error in Fairlead or the provider: no code handles the error of an asynchronous call. The manager continues, and the call is retried. Please file a bug with this line: ${messageOf(error)}`,
      { stack: error instanceof Error ? error.stack : undefined },
    );
    return this.#log !== undefined;
  };
}

// Whether the cloud has ever answered this process, for readiness and observe mode, and the last failure.

import type { CloudCallReport } from "../../cloud/governed-transport.ts";

export class CloudContact {
  #hasAnswered = false;
  #failure: string | undefined;

  record({ account, operation, failure }: CloudCallReport): void {
    if (failure === undefined) this.#hasAnswered = true;
    else this.#failure = `${operation} of account ${account} failed: ${failure}`;
  }

  /** Undefined after the first answer, even if later calls fail: an outage of the cloud must not make a replica unready. */
  get problem(): string | undefined {
    if (this.#hasAnswered) return undefined;
    return `the cloud has not answered yet: ${this.#failure ?? "no request was sent"}`;
  }
}

// Whether the cloud has ever answered this process, and what went wrong last: for readiness, and for people who look.

import type { CloudCallReport } from "../../cloud/governed-transport.ts";

export class CloudContact {
  #hasAnswered = false;
  #failure: string | undefined;

  readonly saw = ({ account, operation, failure }: CloudCallReport): void => {
    if (failure === undefined) this.#hasAnswered = true;
    else this.#failure = `${operation} of ${account} ended in ${failure}`;
  };

  /** Until the first answer, however it goes later: an outage of the cloud is no reason to take a replica away. */
  get problem(): string | undefined {
    if (this.#hasAnswered) return undefined;
    return `the cloud has not answered yet: ${this.#failure ?? "it was not asked"}`;
  }
}

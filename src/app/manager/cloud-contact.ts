// What this process knows from its requests to the cloud: whether it has ever answered, for readiness and observe mode, the last
// failure, and the requests by operation.

import type { CloudCallReport } from "../../cloud/governed-transport.ts";
import type { Clock } from "../../platform/clock.ts";
import { CloudCalls } from "./cloud-calls.ts";

export class CloudContact {
  readonly calls: CloudCalls;
  #hasAnswered = false;
  #failure: string | undefined;

  constructor(clock: Pick<Clock, "now">) {
    this.calls = new CloudCalls(clock);
  }

  record(call: CloudCallReport): void {
    const { account, operation, failure } = call;
    this.calls.record(call);
    if (failure === undefined) this.#hasAnswered = true;
    else this.#failure = `${operation} of account ${account} failed: ${failure}`;
  }

  /** Undefined after the first answer, even if later calls fail: an outage of the cloud must not make a replica unready. */
  get problem(): string | undefined {
    if (this.#hasAnswered) return undefined;
    return `the cloud has not answered yet: ${this.#failure ?? "no request was sent"}`;
  }
}

// Watches the Lease of the leader election, so that a standby replica takes over as soon as the leader releases it. Without the
// permission to watch, a takeover takes up to one retry period longer.

import { type Milliseconds, minutes } from "../../core/brand.ts";
import type { KubeApi } from "../../kube/client/api.ts";
import type { KubeError } from "../../kube/errors/kube-error.ts";
import { holderOf } from "../../kube/leader-election/lease-record.ts";
import type { Lease } from "../../kube/objects.ts";
import { leases } from "../../kube/resources.ts";
import { Reflector } from "../../kube/watch/reflector.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Random } from "../../platform/random.ts";
import type { Task } from "../../runtime/run-together.ts";
import type { Log } from "../../telemetry/log.ts";

export interface LeaseWatchOptions {
  readonly api: KubeApi;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly namespace: string;
  readonly name: string;
  /** Called when the Lease has no holder, or was deleted. */
  readonly onFree: () => void;
}

/** A working watch produces an event, a reconnect or a failure every few minutes. */
const stalledAfter = minutes(10);

export function isStalled(idle: Milliseconds | undefined): boolean {
  return idle !== undefined && idle > stalledAfter;
}

export class LeaseWatch implements Task {
  readonly name = "lease watch";
  readonly #options: LeaseWatchOptions;
  readonly #reflector: Reflector<Lease>;
  #isReported = false;

  constructor(options: LeaseWatchOptions) {
    const { api, clock, random, namespace, name, onFree } = options;
    this.#options = options;
    this.#reflector = new Reflector<Lease>({
      api,
      resource: leases,
      clock,
      random,
      namespace,
      fieldSelector: `metadata.name=${name}`,
      onProblem: (problem) => this.#report(problem),
    });
    this.#reflector.store.subscribe(({ after }) => {
      if (after === undefined || holderOf(after) === "") onFree();
    });
  }

  /** Time since the last activity of the watch, including failures; undefined before it starts. */
  get idle(): Milliseconds | undefined {
    return this.#reflector.idle();
  }

  run(stop: AbortSignal): Promise<void> {
    return this.#reflector.run(stop);
  }

  /** Other problems fail the election too, which reports them. */
  #report({ kind, message }: KubeError): void {
    const { log, namespace, name } = this.#options;
    if (kind !== "forbidden" || this.#isReported) return;
    this.#isReported = true;
    log.warn(
      `Cannot watch the Lease ${namespace}/${name}, so a takeover takes up to one retry period longer: ${message}`,
    );
  }
}

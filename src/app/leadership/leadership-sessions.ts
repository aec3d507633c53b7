// Runs the controllers under one Lease: they run while the Lease is held, stop when it is lost, and restart when it is
// reacquired. Losing the Lease does not end the process, unless --exit-on-lost-lease is set.

import type { LeaderElection, LeaderElectionOptions } from "../../kube/leader-election/leader-election.ts";
import { Draining, endOf } from "../../runtime/draining.ts";
import type { Log } from "../../telemetry/log.ts";

type ElectionCallbacks = Pick<LeaderElectionOptions, "onAcquired" | "onLost" | "onHolder" | "onProblem">;

export interface LeadershipSessionsOptions {
  readonly stop: AbortSignal;
  readonly identity: string;
  /** Runs the controllers until the signal is aborted. May call `stepDown` and end earlier, which releases the Lease. */
  readonly work: (signal: AbortSignal, stepDown: (reason: string) => void) => Promise<void>;
  readonly log: Log;
  readonly elect: (callbacks: ElectionCallbacks) => LeaderElection;
  /** Called when a session begins and when it ends. On shutdown, the Lease is still held at the end. */
  readonly onSession?: (isLeader: boolean) => void;
  /** Called on shutdown for the last writes, after the controllers have ended and while the Lease is held. */
  readonly beforeRelease?: () => Promise<void>;
  readonly onProblem?: (error: unknown) => void;
  readonly exitOnLoss?: boolean;
}

interface Session {
  readonly controller: AbortController;
  /** Cancels in-flight work when a drain times out, or when the Lease is lost during the drain. */
  readonly cancel: AbortController;
  readonly ended: Promise<void>;
}

export class LeadershipSessions {
  readonly #options: LeadershipSessionsOptions;
  readonly #failure = Promise.withResolvers<never>();
  readonly #electionEnd = new AbortController();
  #election: LeaderElection | undefined;
  #session: Session | undefined;
  #isLeader = false;

  constructor(options: LeadershipSessionsOptions) {
    this.#options = options;
    // The work may fail before run() waits for it.
    this.#failure.promise.catch(() => undefined);
  }

  async run(): Promise<void> {
    const { stop, elect } = this.#options;
    this.#election = elect({
      onAcquired: () => this.#begin(),
      onLost: (reason) => this.#lose(reason),
      onHolder: (holder) => this.#logHolder(holder),
      onProblem: (error) => this.#options.onProblem?.(error),
    });
    const stopped = new Promise<void>((resolve) => {
      const end = () => resolve(this.#drain());
      if (stop.aborted) end();
      else stop.addEventListener("abort", end, { once: true });
    });
    const elected = this.#election.run(this.#electionEnd.signal);
    try {
      await Promise.race([Promise.all([elected, stopped]), this.#failure.promise]);
    } finally {
      // Applies even after a failure: the Lease is released, so the next replica need not wait until it expires.
      this.#electionEnd.abort(new Error("the controllers have ended"));
      await elected;
      this.#session?.cancel.abort();
    }
  }

  #begin(): void {
    const { log, work, stop } = this.#options;
    log.info("Acquired leadership");
    this.#setLeader(true);
    const controller = new AbortController();
    const before = this.#session?.ended ?? Promise.resolve();
    const ended = before
      .then(() => work(controller.signal, (reason) => this.#election?.stepDown(reason)))
      .catch((error: unknown) => this.#failure.reject(error));
    this.#session = { controller, cancel: endOf(stop), ended };
  }

  #lose(reason: string): void {
    const { log, stop, exitOnLoss } = this.#options;
    log.warn(`Lost leadership: ${reason}`);
    this.#setLeader(false);
    const lost = new Error("leadership was lost");
    this.#session?.controller.abort(lost);
    this.#session?.cancel.abort(lost);
    if (exitOnLoss === true && !stop.aborted) {
      this.#failure.reject(new Error(`leaderelection lost, and --exit-on-lost-lease is set: ${reason}`));
    }
  }

  #logHolder(holder: string): void {
    const { log, identity } = this.#options;
    if (holder === "") log.info("No current leader");
    else if (holder !== identity) log.info(`${holder} is the leader; this replica is on standby`);
  }

  /** Stops the controllers first, and releases the Lease only afterwards. */
  async #drain(): Promise<void> {
    const { reason } = this.#options.stop;
    if (this.#session !== undefined) {
      const { controller, cancel, ended } = this.#session;
      controller.abort(reason instanceof Draining ? new Draining(reason.message, cancel.signal) : reason);
      await ended;
    }
    if (this.#isLeader) {
      this.#setLeader(false);
      await this.#options.beforeRelease?.();
    }
    this.#electionEnd.abort(reason);
  }

  #setLeader(isLeader: boolean): void {
    if (this.#isLeader === isLeader) return;
    this.#isLeader = isLeader;
    this.#options.onSession?.(isLeader);
  }
}

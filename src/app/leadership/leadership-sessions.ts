// Terms of leadership: the controllers run while the Lease is held, rest when it is lost, and run again when it is back.
// Losing it does not end the process, unless that is asked for.

import type { LeaderElection, LeaderElectionOptions } from "../../kube/leader-election/lease.ts";
import { Draining, endOf } from "../../runtime/draining.ts";
import { runTogether, type Task } from "../../runtime/run-together.ts";
import type { Log } from "../../telemetry/log.ts";

export interface LeadershipSessionsOptions {
  readonly stop: AbortSignal;
  readonly identity: string;
  readonly controllers: readonly Task[];
  readonly log: Log;
  readonly elect: (
    callbacks: Pick<LeaderElectionOptions, "onAcquired" | "onLost" | "onHolder" | "onProblem">,
  ) => LeaderElection;
  /** Told when a term begins and when it ends, the Lease still held if it ends because we were asked to stop. */
  readonly onSession?: (isOurs: boolean) => void;
  /** The work has ended and the Lease is still held: what is left to be written goes now. */
  readonly beforeRelease?: () => Promise<void>;
  readonly onProblem?: (error: unknown) => void;
  readonly exitOnLoss?: boolean;
}

interface LeadershipSession {
  readonly controller: AbortController;
  /** Cuts what is in hand when a drain has lasted long enough, or the Lease is lost in the middle of it. */
  readonly cut: AbortController;
  readonly ended: Promise<void>;
}

export async function runLeadershipSessions(options: LeadershipSessionsOptions): Promise<void> {
  const { stop, identity, controllers, log, elect, onSession, beforeRelease } = options;
  let session: LeadershipSession | undefined;
  let leads = false;
  const failure = Promise.withResolvers<never>();
  // Nobody may be waiting for it when it happens.
  failure.promise.catch(() => undefined);
  const electionEnd = new AbortController();

  const begin = (): void => {
    const controller = new AbortController();
    const before = session?.ended ?? Promise.resolve();
    const ended = before.then(() => runTogether(controllers, controller.signal)).catch(failure.reject);
    session = { controller, cut: endOf(stop), ended };
  };
  const setLeads = (isOurs: boolean): void => {
    if (leads === isOurs) return;
    leads = isOurs;
    onSession?.(isOurs);
  };
  const election = elect({
    onAcquired: () => {
      log.info("This replica leads now");
      setLeads(true);
      begin();
    },
    onLost: (reason) => {
      log.warn(`This replica leads no more: ${reason}`);
      setLeads(false);
      const lost = new Error("leadership was lost");
      session?.controller.abort(lost);
      session?.cut.abort(lost);
      if (options.exitOnLoss === true && !stop.aborted) {
        failure.reject(new Error(`leaderelection lost, and --exit-on-lost-lease is given: ${reason}`));
      }
    },
    onHolder: (holder) => {
      if (holder === "") log.info("Nobody leads");
      else if (holder !== identity) log.info(`${holder} leads; this replica waits and does nothing`);
    },
    onProblem: (error) => options.onProblem?.(error),
  });

  // The work stops first; only then is the Lease given up.
  const onStop = async (): Promise<void> => {
    const { reason } = stop;
    if (session !== undefined) {
      const isDrain = reason instanceof Draining;
      session.controller.abort(isDrain ? new Draining(reason.message, session.cut.signal) : reason);
      await session.ended;
    }
    if (leads) {
      setLeads(false);
      await beforeRelease?.();
    }
    electionEnd.abort(reason);
  };
  const stopped = new Promise<void>((resolve) => {
    const end = () => resolve(onStop());
    if (stop.aborted) end();
    else stop.addEventListener("abort", end, { once: true });
  });
  const elected = election.run(electionEnd.signal);
  try {
    await Promise.race([Promise.all([elected, stopped]), failure.promise]);
  } finally {
    // Also after a failure: the next replica need not sit out the duration of a Lease that nobody uses.
    electionEnd.abort(new Error("the controllers have ended"));
    await elected;
    session?.cut.abort();
  }
}

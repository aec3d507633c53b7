// Terms of leadership: the controllers run while the Lease is held, rest when it is lost, and run again when it is back.
// Losing it does not end the process.

import { type Milliseconds, seconds } from "../core/brand.ts";
import type { LeaderElection, LeaderElectionOptions } from "../kube/lease.ts";
import { runTogether, type Task } from "../runtime/scope.ts";
import type { Log } from "../telemetry/log.ts";

/** Writes stop this long before the Lease could end: one that was handed over must have arrived by then. */
export const writeMargin: Milliseconds = seconds(2);

export interface TermsOptions {
  readonly stop: AbortSignal;
  readonly identity: string;
  readonly controllers: readonly Task[];
  readonly log: Log;
  readonly elect: (
    callbacks: Pick<LeaderElectionOptions, "onAcquired" | "onLost" | "onHolder" | "onProblem">,
  ) => LeaderElection;
}

export const runTerms = async ({ stop, identity, controllers, log, elect }: TermsOptions): Promise<void> => {
  let term: { readonly controller: AbortController; readonly ended: Promise<void> } | undefined;
  const failure = Promise.withResolvers<never>();
  // Nobody may be waiting for it when it happens.
  failure.promise.catch(() => undefined);
  const electionEnd = new AbortController();

  const begin = (): void => {
    const controller = new AbortController();
    const before = term?.ended ?? Promise.resolve();
    const ended = before.then(() => runTogether(controllers, controller.signal)).catch(failure.reject);
    term = { controller, ended };
  };
  const election = elect({
    onAcquired: () => {
      log.info("This replica leads now");
      begin();
    },
    onLost: (reason) => {
      log.warn(`This replica leads no more: ${reason}`);
      term?.controller.abort(new Error("leadership was lost"));
    },
    onHolder: (holder) => {
      if (holder === "") log.info("Nobody leads");
      else if (holder !== identity) log.info(`${holder} leads; this replica waits and does nothing`);
    },
    onProblem: (error) => log.warn(error instanceof Error ? error.message : String(error)),
  });

  // The work stops first; only then is the Lease given up.
  const onStop = async (): Promise<void> => {
    term?.controller.abort(stop.reason);
    await term?.ended;
    electionEnd.abort(stop.reason);
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
  }
};

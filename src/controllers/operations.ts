// Work of the cloud that is asked about by the id it was given: all tickets are gathered and checked
// together, and nobody waits in a worker. Tickets live in memory only; one that is lost is made up for by observing.

import { backoffAfter, isFenced } from "../cloud/disposition.ts";
import { type Milliseconds, milliseconds } from "../core/brand.ts";
import type { Clock } from "../platform/clock.ts";
import type { Random } from "../platform/random.ts";
import { CloudError } from "../provider/errors.ts";
import type { Pending, StepOutcome } from "../provider/plan.ts";

export interface OperationDeps {
  /** Absent where this cloud gives no tickets. */
  readonly pending: Pending | undefined;
  readonly clock: Clock;
  readonly random: Random;
}

/** What has become of it: nothing to say yet, lost, done, or the error it failed with. */
export type OperationUpdate = "pending" | "lost" | Extract<StepOutcome, { readonly done: true }> | CloudError;

interface Held {
  readonly operation: string;
  due: number;
  news: OperationUpdate;
}

/** Most errors of a cloud are over at the next attempt. */
const failuresBeforeReport = 3;

/** Tickets that fall due this shortly after another are checked with it. */
const gathering: Milliseconds = milliseconds(100);

export function createOperations(
  { pending, clock, random }: OperationDeps,
  /** There is news of the ticket under this key. */
  enqueue: (key: string) => void,
) {
  const held = new Map<string, Held>();
  let signal: AbortSignal | undefined;
  let cancel: (() => void) | undefined;
  let isChecking = false;
  let failures = 0;
  let problem: unknown;

  const waiting = () => [...held].filter(([, { news }]) => news === "pending");

  const plan = (): void => {
    cancel?.();
    cancel = undefined;
    const dues = waiting().map(([, { due }]) => due);
    if (dues.length === 0 || isChecking || signal === undefined || signal.aborted) return;
    const rest = Math.max(0, Math.min(...dues) - clock.monotonic());
    cancel = clock.after(milliseconds(rest + gathering), () => void check());
  };

  const report = (key: string, one: Held, outcome: StepOutcome | CloudError | undefined): void => {
    if (outcome !== undefined && !CloudError.is(outcome) && !outcome.done) {
      one.due = clock.monotonic() + outcome.checkAfter;
      return;
    }
    one.news = outcome ?? "lost";
    enqueue(key);
  };

  /** Whoever waits must be able to say why nothing comes, and to take it back. */
  const becomes = (next: unknown): void => {
    if (next === problem) return;
    problem = next;
    for (const [key] of waiting()) enqueue(key);
  };

  const check = async (): Promise<void> => {
    const stop = signal;
    if (pending === undefined || stop === undefined) return;
    isChecking = true;
    const due = waiting().filter(([, one]) => one.due <= clock.monotonic());
    try {
      for (let at = 0; at < due.length; at += pending.limit) {
        const some = due.slice(at, at + pending.limit);
        // One piece of work may be what several wait for.
        const operations = [...new Set(some.map(([, { operation }]) => operation))];
        const outcomes = await pending.check(operations, { signal: stop, urgency: "user-change" });
        for (const [key, one] of some) report(key, one, outcomes.get(one.operation));
      }
      failures = 0;
      becomes(undefined);
    } catch (error) {
      // Nothing was learnt of them; they are asked about again, later each time.
      failures += 1;
      if (failures >= failuresBeforeReport && !stop.aborted && !isFenced(error)) becomes(error);
      const rest = backoffAfter(error, failures, clock, random);
      for (const [, one] of due) if (one.news === "pending") one.due = clock.monotonic() + rest;
    } finally {
      isChecking = false;
      plan();
    }
  };

  return {
    /** False where this cloud has no such thing: then only observing tells. */
    hold: (key: string, operation: string, checkAfter: Milliseconds): boolean => {
      if (pending === undefined) return false;
      held.set(key, { operation, due: clock.monotonic() + checkAfter, news: "pending" });
      plan();
      return true;
    },
    /** News is taken away with it. */
    take: (key: string): OperationUpdate | undefined => {
      const news = held.get(key)?.news;
      if (news !== undefined && news !== "pending") held.delete(key);
      return news;
    },
    /** Why nothing has been learnt of any of them for some attempts; undefined while they can be asked about. */
    get problem(): unknown {
      return problem;
    },
    /** Those that are waited for or have news. */
    get keys(): Iterable<string> {
      return held.keys();
    },
    begin: (until: AbortSignal): void => {
      signal = until;
      failures = 0;
      problem = undefined;
      plan();
    },
    end: (): void => {
      signal = undefined;
      cancel?.();
      held.clear();
    },
  };
}

export type Operations = ReturnType<typeof createOperations>;

// What this process knows and is about to do, as JSON for people: troubles, proofs, budgets, queues, the journal. It names
// objects and reasons; it holds no credential, and no configuration from which one could be read.

import type { Manager } from "../manager/manager.ts";
import { version } from "../version.ts";
import { balancersOf, serviceProblemsOf } from "./debug-services.ts";

/** A list for people: what is beyond is counted. */
const longest = 1000;
const listed = <T>(items: readonly T[]) => ({ count: items.length, first: items.slice(0, longest) });
const at = (time: number): string => new Date(time).toISOString();
const secondsOf = (duration: number): number => Math.round(duration / 100) / 10;

export function debugState(manager: Manager, now: { readonly wall: number; readonly monotonic: number }) {
  return {
    at: at(now.wall),
    version,
    identity: manager.identity,
    mode: manager.mode,
    leads: manager.leads(),
    runsForSeconds: secondsOf(now.monotonic - manager.startedAt),
    isStalledBecause: manager.stalled(),
    caches: manager.caches(),
    queues: Object.entries(manager.queues).map(([name, queue]) => ({
      name,
      waiting: queue.depth,
      delayed: queue.delayed,
      inHand: queue.active,
    })),
    inventory: manager.inventory.sources.map(({ source, latest }) => ({
      source: source.name,
      ...(latest !== undefined && {
        machines: latest.items.length,
        ageSeconds: secondsOf(now.monotonic - latest.beganAt),
      }),
    })),
    accounts: manager.accounts.map(({ name, budget, breakers }) => ({
      name,
      budget: budget.level,
      endpoints: breakers(),
    })),
    nodeProblems: listed(
      [...manager.problems].map(([node, { problem, count }]) => ({
        node,
        reason: problem.reason,
        text: problem.text,
        attempts: count,
      })),
    ),
    evidenceOfAbsence: listed(
      [...manager.candidates].flatMap(([node, { evidence }]) =>
        evidence === undefined
          ? []
          : {
              node,
              notReadyForSeconds: secondsOf(now.monotonic - evidence.since),
              proofs: evidence.proofs.map(({ kind, asOf }) => ({
                kind,
                ageSeconds: secondsOf(now.monotonic - asOf),
              })),
            },
      ),
    ),
    serviceProblems: listed(serviceProblemsOf(manager)),
    balancers: listed(balancersOf(manager)),
    orphans: listed(manager.orphans().map(({ group }) => group)),
    /** Of the last look at the table. */
    routes: manager.lastRouteSync(),
    eventsWaiting: manager.pendingEvents(),
    journal: listed(
      manager.journal
        .entries()
        .toReversed()
        .map((entry) => ({ ...entry, at: at(entry.at) })),
    ),
  };
}

// The report of the manager as JSON for /debug/state. Pure.

import type { ManagerReport } from "../report/manager-report.ts";

/** Longer lists are truncated; `count` has the full length. */
const maxListed = 1000;
const listed = <T>(items: readonly T[]) => ({ count: items.length, first: items.slice(0, maxListed) });

export function debugState(report: ManagerReport) {
  const [onlySync] = report.routes;
  return {
    ...report,
    queues: report.queues.map((queue) => ({ ...queue, next: listed(queue.next) })),
    nodeProblems: listed(report.nodeProblems),
    nodeNotices: listed(report.nodeNotices),
    nodesOnHold: listed(report.nodesOnHold),
    evidenceOfAbsence: listed(report.evidenceOfAbsence),
    serviceProblems: listed(report.serviceProblems),
    balancers: listed(report.balancers),
    balancersOnHold: listed(report.balancersOnHold),
    massLimits: Object.fromEntries(
      report.massLimits.map(({ kind, held, ...rest }) => [kind, { ...rest, held: listed(held) }] as const),
    ),
    orphans: listed(report.orphans),
    /** A cloud with one table has one result. */
    routes: onlySync?.table === undefined ? onlySync : report.routes,
    journal: listed(report.journal),
  };
}

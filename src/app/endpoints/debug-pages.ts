// The pages /debug/state and /debug/explain: the manager's report, and the state of a Node, a
// Service or a volume. Without a name, /debug/explain shows all unsettled objects.

import { defined } from "../../core/defined.ts";
import { describeEverything, describeObject, isNotFound } from "../../inspect/explain/describe-object.ts";
import { describedKinds } from "../../inspect/explain/description.ts";
import type { ServedResponse } from "../../platform/listener.ts";
import { jsonAnswer, refusal } from "../../server/answers.ts";
import type { ServedPage } from "../../server/secure-port.ts";
import type { Manager } from "../manager/manager.ts";
import { leaderTexts, type ManagerReport } from "../report/manager-report.ts";

/** Longer lists are truncated; `count` is the full length. */
const maxListed = 1000;
const listed = <T>(items: readonly T[]) => ({ count: items.length, first: items.slice(0, maxListed) });

export function debugState(report: ManagerReport) {
  const [onlySync] = report.routes;
  return {
    ...report,
    queues: report.queues.map((queue) => ({ ...queue, next: listed(queue.next) })),
    findings: listed(report.findings),
    evidenceOfAbsence: listed(report.evidenceOfAbsence),
    balancers: listed(report.balancers),
    balancersOnHold: listed(report.balancersOnHold),
    massLimits: Object.fromEntries(
      report.massLimits.map(({ kind, held, ...rest }) => [kind, { ...rest, held: listed(held) }] as const),
    ),
    orphans: listed(report.orphans),
    possibleOrphans: listed(report.possibleOrphans),
    /** A cloud with one route table has one result. */
    routes: onlySync?.table === undefined ? onlySync : report.routes,
    journal: listed(report.journal),
  };
}

export function explainPage(manager: Manager): ServedPage {
  return ({ query }) => {
    const unlisted = Object.entries(manager.caches()).flatMap(([plural, { isSynced }]) =>
      isSynced ? [] : plural,
    );
    if (unlisted.length > 0)
      return refusal(
        503,
        `It has not completed its first list of ${unlisted.join(" and ")}, so it does not know which objects exist. Its log shows why lists fail.`,
      );
    const asked = query.get("kind");
    const name = query.get("name");
    const from = {
      identity: manager.identity,
      leads: manager.leads(),
      mode: manager.flags.mode,
      ...defined(leaderTexts(manager)),
    };
    if (asked === null && name === null) {
      const all = query.get("all") === "true";
      return jsonAnswer({ ...from, objects: describeEverything(manager, all) });
    }
    const kind = describedKinds.find((one) => one.toLowerCase() === asked?.toLowerCase());
    if (kind === undefined || name === null || name === "") {
      return refusal(
        400,
        "Expected ?kind=node&name=NAME or ?kind=service&name=NAMESPACE/NAME. Kinds: node, service, persistentvolumeclaim, persistentvolume.",
      );
    }
    const explained = (): ServedResponse => {
      const answer = describeObject(manager, kind, name);
      return jsonAnswer({
        ...from,
        objects: isNotFound(answer) ? [] : [answer],
        ...(isNotFound(answer) && { notFound: answer }),
      });
    };
    const reading = kind === "Service" ? manager.askHealth(name) : undefined;
    return reading?.then(explained) ?? explained();
  };
}

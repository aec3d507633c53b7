// The top of the page: who leads, one tile per topic, one sentence that sums up, and what concerns the whole manager.

import { isShortWait } from "../../controllers/problem-order.ts";
import { roughDuration } from "../../core/duration.ts";
import { awaitedListsText, type ManagerReport } from "../report/manager-report.ts";
import { type Html, html } from "./html.ts";
import type { StatusView, ToneCounts } from "./status-view.ts";
import { counted, number, secondsBetween, type Tone } from "./words.ts";

export function roleOf({ leads, holders, mode }: ManagerReport): {
  readonly tone: Tone;
  readonly label: string;
} {
  if (mode === "observe") return { tone: "quiet", label: "Observes, changes nothing" };
  if (leads) return { tone: "good", label: "Leader" };
  return Object.keys(holders).length === 0
    ? { tone: "waiting", label: "Starting" }
    : { tone: "quiet", label: "Standby" };
}

/** What fails is tried again after 15 minutes at most. */
const longestRetry = 16 * 60;

/** Listings that fail, accounts that cannot be reached, and else operations whose last request failed. */
function failures({ accounts, inventory, balancerListings, requests, at }: ManagerReport): number {
  const broken = accounts.filter(({ endpoints }) => endpoints.some(({ state }) => state !== "closed"));
  const failed = [...inventory, ...balancerListings].filter(({ failure }) => failure !== undefined);
  // A lookup that finds nothing is an answer.
  const failing = requests.filter(
    ({ lastAt, lastError: error }) =>
      error?.at === lastAt && error.kind !== "not-found" && secondsBetween(lastAt, at) < longestRetry,
  );
  return broken.length + failed.length || failing.length;
}

/** A mass limit holds them until an operator decides. Others end with a listing of the cloud. */
const lastingHolds = ({ massLimits }: ManagerReport): number =>
  massLimits.reduce((sum, { held }) => sum + held.length, 0);

const shortHolds = ({ balancersOnHold }: ManagerReport): number =>
  balancersOnHold.filter(({ reason }) => isShortWait(reason)).length;

const failedRoutes = ({ routes }: ManagerReport): number =>
  routes.reduce((sum, { failed }) => sum + failed, 0);

/** Why whole route tables are not reconciled. */
const tableFailures = ({ findings }: ManagerReport) =>
  findings.filter(
    ({ object, kind, severity }) => object === "RouteTable" && kind === "problem" && severity !== "warning",
  );

/** For a screen reader that follows the page: it changes only when something matters. */
export function summaryText({ report, nodeCounts, serviceCounts }: StatusView): string {
  const counts = [
    [nodeCounts.bad, "Node", "Nodes"],
    [serviceCounts.bad, "Service", "Services"],
    [failedRoutes(report), "route", "routes"],
    [tableFailures(report).length, "route table", "route tables"],
    [lastingHolds(report), "held object", "held objects"],
    [failures(report), "failure of the cloud", "failures of the cloud"],
  ] as const;
  const parts = counts.flatMap(([count, one, many]) => (count > 0 ? counted(count, one, many) : []));
  const [last = ""] = parts.slice(-1);
  const waiting = shortHolds(report);
  const waits =
    waiting === 0
      ? ""
      : ` ${counted(waiting, "load balancer waits", "load balancers wait")} for a proof of the cloud.`;
  const awaited = report.noLeader ?? awaitedListsText(report.awaitedCaches);
  if (awaited === undefined && isStandby(report))
    return `This replica decides nothing, so it does not know what needs attention: ${leadersText(report)}.`;
  if (parts.length === 0) return awaited ?? `Nothing needs attention.${waits}`;
  const list = parts.length === 1 ? last : `${parts.slice(0, -1).join(", ")} and ${last}`;
  return `${awaited === undefined ? "" : `${awaited} `}${list} ${parts.length === 1 && last.startsWith("1 ") ? "needs" : "need"} attention.${waits}`;
}

function notice(tone: Tone, title: string, text: string): Html {
  return html`<div class="notice ${tone}"><p><strong>${title}</strong> ${text}</p></div>`;
}

const isStandby = ({ leads, mode, holders }: ManagerReport): boolean =>
  !leads && mode !== "observe" && Object.keys(holders).length > 0;

function leadersText({ holders }: ManagerReport): string {
  const known = Object.entries(holders).map(([lease, holder]) =>
    holder === undefined || holder === ""
      ? `no replica holds the Lease ${lease}`
      : `${holder} leads (Lease ${lease})`,
  );
  return known.join("; ");
}

function standbyText(report: ManagerReport): string {
  return `${leadersText(report)}. This replica keeps its caches filled and decides nothing. Open the page of the leader for problems, holds and decisions.`;
}

export function noticesPart({ report }: StatusView): Html {
  const { mode, isStalledBecause: stalled, pendingRestart, unreadableSources } = report;
  const awaited = awaitedListsText(report.awaitedCaches);
  return html`${isStandby(report) ? notice("quiet", "This replica is on standby:", standbyText(report)) : undefined}
${mode === "observe" ? notice("quiet", "Observe mode.", "This replica changes nothing; the changes it would make are listed as decisions.") : undefined}
${stalled === undefined ? undefined : notice("bad", "Restart this process:", stalled)}
${report.noLeader === undefined ? undefined : notice("bad", "Nothing is reconciled:", report.noLeader)}
${awaited === undefined ? undefined : notice("bad", "Nothing is reconciled:", awaited)}
${tableFailures(report).map(({ text }) => notice("bad", "Routes are not reconciled:", text))}
${pendingRestart.length === 0 ? undefined : notice("waiting", "A restart is pending for", `${pendingRestart.join(", ")}. The changed values take effect after it.`)}
${unreadableSources.length === 0 ? undefined : notice("quiet", "No access to", `${unreadableSources.join(", ")}. Nodes of these sources are left alone.`)}`;
}

function tile(href: string, title: string, figure: string, text: string, tone: Tone): Html {
  return html`<li><a class="tile ${tone}" href="${href}"><span class="title">${title}</span> <span class="figure">${figure}</span> <span class="text">${text}</span></a></li>`;
}

function toneOfAll({ bad, waiting }: ToneCounts): Tone {
  if (bad > 0) return "bad";
  return waiting > 0 ? "waiting" : "good";
}

function inWords({ bad, waiting }: ToneCounts): string {
  if (bad > 0) return `${number(bad)} ${bad === 1 ? "needs" : "need"} attention`;
  return waiting > 0 ? `${number(waiting)} in progress` : "in order";
}

export function tilesPart({ report, nodes, nodeCounts, services, serviceCounts }: StatusView): Html {
  const { routes, accounts, journal } = report;
  const [latest] = journal;
  const lasting = lastingHolds(report);
  const held = lasting + shortHolds(report);
  const faults = failures(report);
  const failed = failedRoutes(report);
  const isUnreadable = tableFailures(report).length > 0;
  const isListed = routes.every(({ isComplete }) => isComplete);
  const routeCount = routes.reduce((sum, { there }) => sum + there, 0);
  const routeText =
    routes.length === 0
      ? "not managed"
      : isUnreadable
        ? "not reconciled"
        : failed === 0
          ? "in order"
          : `${number(failed)} failed`;
  const requests = report.requests.reduce((sum, { count }) => sum + count, 0);
  const answers =
    accounts.length === 0 ? "no account" : faults === 0 ? "no failure" : `${number(faults)} failing now`;
  const holdText =
    held === 0 ? "none by a limit or proof" : lasting > 0 ? "wait for you" : "wait for a proof";
  return html`<ul class="tiles">
${tile("#nodes", "Nodes", number(nodes.length), inWords(nodeCounts), toneOfAll(nodeCounts))}
${tile("#services", "Services", number(services.length), inWords(serviceCounts), toneOfAll(serviceCounts))}
${tile("#routes", "Routes", isListed ? number(routeCount) : "–", routeText, failed > 0 || isUnreadable ? "bad" : "good")}
${tile("#holds", "Holds", number(held), holdText, lasting > 0 ? "bad" : held > 0 ? "waiting" : "good")}
${tile("#decisions", "Decisions", number(journal.length), latest === undefined ? "none yet" : `last ${roughDuration(secondsBetween(latest.at, report.at))} ago`, "good")}
${tile("#cloud", "Cloud requests", number(requests), answers, faults > 0 ? "bad" : "good")}
</ul>`;
}

export function aboutPart({ version, runsForSeconds }: ManagerReport): Html {
  return html`<span>version ${version}</span> <span>up ${roughDuration(runsForSeconds)}</span>`;
}

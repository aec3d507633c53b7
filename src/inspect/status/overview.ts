// The top of the page: the leader, one tile per topic, a one-sentence summary, and findings about the whole manager.

import { announcedProblem } from "../../app/report/deprecations.ts";
import { awaitedListsText, type ManagerReport } from "../../app/report/manager-report.ts";
import { isShortWait } from "../../controllers/problem-order.ts";
import { roughDuration } from "../../core/duration.ts";
import { messageIn } from "../../core/problem.ts";
import { type Html, html } from "./html.ts";
import { deletionsOnHold } from "./object-sections.ts";
import type { StatusView, ToneCounts } from "./status-view.ts";
import { counted, number, secondsBetween, type Tone } from "./words.ts";

export function roleOf({ leads, leases, mode }: ManagerReport): {
  readonly tone: Tone;
  readonly label: string;
} {
  if (mode === "observe") return { tone: "quiet", label: "Observes, changes nothing" };
  if (leads) return { tone: "good", label: "Leader" };
  return leases.length === 0 ? { tone: "waiting", label: "Starting" } : { tone: "quiet", label: "Standby" };
}

/** Failed keys are retried after at most 15 minutes. */
const longestRetry = 16 * 60;

interface Failures {
  readonly count: number;
  readonly noun: string;
  /** The text that follows the count in the tile. */
  readonly verbs: readonly [one: string, many: string];
}

/** The operations whose last request failed; if there are none, the failing listings, or the endpoints that do not respond. */
function failures({ accounts, inventory, balancerListings, requests, at }: ManagerReport): Failures {
  // A lookup that finds nothing is an answer.
  const operations = requests.filter(
    ({ lastAt, lastError: error }) =>
      error?.at === lastAt && error.kind !== "not-found" && secondsBetween(lastAt, at) < longestRetry,
  ).length;
  const listings = [...inventory, ...balancerListings].filter(({ failure }) => failure !== undefined).length;
  const endpoints = accounts
    .flatMap((account) => account.endpoints)
    .filter(({ state }) => state !== "closed").length;
  const kinds: readonly Failures[] = [
    { count: operations, noun: "operation", verbs: ["fails", "fail"] },
    { count: listings, noun: "listing", verbs: ["fails", "fail"] },
    { count: endpoints, noun: "endpoint", verbs: ["does not respond", "do not respond"] },
  ];
  return kinds.find(({ count }) => count > 0) ?? { count: 0, noun: "", verbs: ["", ""] };
}

/** Holds by a mass limit or an annotation last until a user decides. Other holds end with a cloud listing. */
const lastingHolds = (report: ManagerReport): number =>
  report.massLimits.reduce((sum, { held }) => sum + held.length, 0) + deletionsOnHold(report).length;

/** Holds that are not counted with a Node or a Service. A held load balancer has the name of its Service. */
function otherHolds({ report, nodes, services }: StatusView): number {
  const rows = [...nodes, ...services].flatMap(({ name, tone }) => (tone === "bad" ? name : []));
  const shown = new Set(rows);
  const names = report.massLimits.flatMap(({ held }) => held);
  return names.filter((name) => !shown.has(name)).length;
}

const shortHolds = ({ balancersOnHold }: ManagerReport): number =>
  balancersOnHold.filter(({ reason }) => isShortWait(reason)).length;

const failedRoutes = ({ routes }: ManagerReport): number =>
  routes.reduce((sum, { failed }) => sum + failed, 0);

/** Why whole route tables are not reconciled. */
const tableFailures = ({ findings }: ManagerReport) =>
  findings.filter(({ object, severity }) => object === "RouteTable" && severity === "error");

/** For a screen reader that follows the page: changes only when something important changes. */
export function summaryText(view: StatusView): string {
  const { report, nodeCounts, serviceCounts } = view;
  const { count: failing, noun } = failures(report);
  const counts = [
    [nodeCounts.bad, "Node", "Nodes"],
    [serviceCounts.bad, "Service", "Services"],
    [failedRoutes(report), "route", "routes"],
    [tableFailures(report).length, "route table", "route tables"],
    [otherHolds(view), "held object", "held objects"],
    [failing, `failing ${noun} of the cloud`, `failing ${noun}s of the cloud`],
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
    return "This replica decides nothing, so it does not know what needs attention.";
  if (parts.length === 0) return awaited ?? `No Node, Service or route needs attention.${waits}`;
  const list = parts.length === 1 ? last : `${parts.slice(0, -1).join(", ")} and ${last}`;
  return `${awaited === undefined ? "" : `${awaited} `}${list} ${parts.length === 1 && last.startsWith("1 ") ? "needs" : "need"} attention.${waits}`;
}

function notice(tone: Tone, title: string, text: string): Html {
  return html`<div class="notice ${tone}"><p><strong>${title}</strong> ${text}</p></div>`;
}

const isStandby = ({ leads, mode, noLeader }: ManagerReport): boolean =>
  !leads && mode !== "observe" && noLeader === undefined;

/** Names the actual leader, and where to look. */
function standbyText({ leases, otherLeader }: ManagerReport): string {
  const rest = "This replica keeps its caches filled and decides nothing.";
  if (otherLeader !== undefined) return `${otherLeader} ${rest}`;
  if (leases.length === 0) return `No Lease is known yet. ${rest}`;
  const leaders = leases.map(({ holder, name }) => `${holder} leads (Lease ${name})`).join("; ");
  return `${leaders}. ${rest} Open the page of the leader for problems, holds and decisions.`;
}

export function noticesPart({ report }: StatusView): Html {
  const { mode, isStalledBecause: stalled, pendingRestart, unreadableSources } = report;
  const awaited = awaitedListsText(report.awaitedCaches);
  const announced = announcedProblem(report.deprecations);
  return html`${isStandby(report) ? notice("quiet", "This replica is on standby:", standbyText(report)) : undefined}
${mode === "observe" ? notice("quiet", "Observe mode.", "This replica changes nothing; the changes it would make are listed as decisions.") : undefined}
${stalled === undefined ? undefined : notice("bad", "Restart this process:", stalled)}
${report.noLeader === undefined ? undefined : notice("bad", "Nothing is reconciled:", report.noLeader)}
${awaited === undefined ? undefined : notice("bad", "Nothing is reconciled:", awaited)}
${tableFailures(report).map((problem) => notice("bad", "Routes are not reconciled:", messageIn(problem)))}
${pendingRestart.length === 0 ? undefined : notice("waiting", "A restart is pending for", `${pendingRestart.join(", ")}. The changed values take effect after it.`)}
${report.leads && mode !== "observe" ? html`<p class="next">A second manager that leads with another Lease is not visible here; the command <code>doctor</code> finds it.</p>` : undefined}
${announced === undefined ? undefined : notice("waiting", "Deprecated:", messageIn(announced))}
${unreadableSources.length === 0 ? undefined : notice("quiet", "Machines without access:", `the settings give no access to ${unreadableSources.join(", ")}, so their Nodes are left alone.`)}`;
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

/** The number on the tile, its meaning, and its tone. */
function routesInWords(report: ManagerReport): readonly [figure: string, text: string, tone: Tone] {
  const { routes } = report;
  const sum = (count: (sync: (typeof routes)[number]) => number): number =>
    routes.reduce((total, sync) => total + count(sync), 0);
  const [wanted, present, waitingNodes] = [
    sum((sync) => sync.wanted),
    sum((sync) => sync.present),
    sum((sync) => sync.waitingNodes),
  ];
  const figure = !routes.every(({ isComplete }) => isComplete)
    ? "–"
    : present < wanted
      ? `${number(present)} of ${number(wanted)}`
      : number(sum(({ there }) => there));
  const failed = failedRoutes(report);
  if (routes.length === 0) return [figure, "not managed", "good"];
  if (tableFailures(report).length > 0) return [figure, "not reconciled", "bad"];
  if (failed > 0) return [figure, `${number(failed)} failed`, "bad"];
  if (waitingNodes > 0)
    return [
      figure,
      `${counted(waitingNodes, "Node")} without a known instance ${waitingNodes === 1 ? "keeps its routes" : "keep their routes"}`,
      "waiting",
    ];
  return present < wanted ? [figure, "in progress", "waiting"] : [figure, "in order", "good"];
}

export function tilesPart({ report, nodes, nodeCounts, services, serviceCounts }: StatusView): Html {
  const { accounts, journal } = report;
  const [latest] = journal;
  const lasting = lastingHolds(report);
  const held = lasting + shortHolds(report);
  const { count, noun, verbs } = failures(report);
  const requests = report.requests.reduce((sum, one) => sum + one.count, 0);
  const answers =
    accounts.length === 0
      ? "no account"
      : count === 0
        ? "no failure"
        : counted(count, `${noun} ${verbs[0]}`, `${noun}s ${verbs[1]}`);
  const holdText = held === 0 ? "none" : lasting > 0 ? "wait for you" : "wait for a proof";
  return html`<ul class="tiles">
${tile("#nodes", "Nodes", number(nodes.length), inWords(nodeCounts), toneOfAll(nodeCounts))}
${tile("#services", "Services", number(services.length), inWords(serviceCounts), toneOfAll(serviceCounts))}
${tile("#routes", "Routes", ...routesInWords(report))}
${tile("#holds", "Holds", number(held), holdText, lasting > 0 ? "bad" : held > 0 ? "waiting" : "good")}
${tile("#decisions", "Decisions", number(journal.length), latest === undefined ? "none yet" : `last ${roughDuration(secondsBetween(latest.at, report.at))} ago`, "good")}
${tile("#cloud", "Cloud requests", number(requests), answers, count > 0 ? "bad" : "good")}
</ul>`;
}

export function aboutPart({ version, runsForSeconds }: ManagerReport): Html {
  return html`<span>version ${version}</span> <span>up ${roughDuration(runsForSeconds)}</span>`;
}

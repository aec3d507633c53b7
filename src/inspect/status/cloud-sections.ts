// The page's sections about the cloud (requests, budgets and listings), and about the queues and watches of this replica.

import type { ManagerReport } from "../../app/report/manager-report.ts";
import { roughDuration } from "../../core/duration.ts";
import { type Html, type HtmlValue, html, table } from "./html.ts";
import type { StatusView } from "./status-view.ts";
import { ago, badge, number } from "./words.ts";

type Account = ManagerReport["accounts"][number];

function budgetText({ budget: { limit, remaining } }: Account): Html {
  if (limit === undefined || remaining === undefined) return html`not reported by the cloud`;
  return html`${number(remaining)} of ${number(limit)} left <meter min="0" max="${limit}" low="${limit * 0.1}" high="${limit * 0.3}" optimum="${limit}" value="${remaining}">${number(remaining)} of ${number(limit)}</meter>`;
}

const verbs: Readonly<Partial<Record<string, string>>> = {
  CloudAuthFailed: "Has rejected the credentials",
  CloudThrottled: "Has refused requests",
};

const resumesIn = ({ budget: { closedForSeconds } }: Account): string =>
  `requests resume in ${roughDuration(Math.max(1, closedForSeconds))}`;

/** A text such as "Has failed for 11s: 503". */
function failureText(account: Account): string | undefined {
  const { budget, failure } = account;
  if (failure === undefined) return undefined;
  const { reason, status, failingForSeconds } = failure;
  const duration = `for ${roughDuration(failingForSeconds)}`;
  // Without a status, the request was not sent, because no credentials were issued.
  if (reason === "CloudAuthFailed" && status === undefined) return `Has no valid credentials ${duration}`;
  const isPaused = reason === "CloudThrottled" && budget.closedForSeconds > 0;
  return `${verbs[reason] ?? "Has failed"} ${duration}: ${status ?? "no response"}${isPaused ? `; ${resumesIn(account)}` : ""}`;
}

function stateOfAccount(account: Account): Html {
  const { budget, endpoints, wasAsked } = account;
  const broken = endpoints.filter(({ state }) => state !== "closed");
  if (broken.length > 0)
    return html`${badge("bad", "Not reachable")} ${broken.map(({ endpoint }) => endpoint).join(", ")}`;
  const failing = failureText(account);
  if (failing !== undefined) return badge("bad", failing);
  if (!wasAsked) return badge("quiet", "Not asked yet");
  return budget.closedForSeconds > 0
    ? badge("waiting", `Rate limit: ${resumesIn(account)}`)
    : badge("good", "Reachable");
}

function accountsTable({ accounts }: ManagerReport): Html {
  return table({
    id: "accounts-table",
    caption: "Accounts of the cloud with their request budget",
    columns: [
      { title: "Account", cell: ({ name }) => name },
      { title: "State", cell: stateOfAccount },
      { title: "Budget, as the cloud counts it", cell: budgetText },
      { title: "In flight", kind: "number", cell: ({ budget }) => number(budget.inFlight) },
      { title: "Waiting", kind: "number", cell: ({ budget }) => number(budget.waiting) },
    ],
    rows: accounts,
    empty: "No account is open.",
  });
}

const orDash = <T extends HtmlValue>(value: T | undefined, shown: (value: T) => HtmlValue): HtmlValue =>
  value === undefined ? "–" : shown(value);

function listingsTable({ inventory, balancerListings }: ManagerReport): Html {
  return table({
    id: "listings-table",
    caption: "Listings of the cloud with their age",
    columns: [
      { title: "Listing", cell: ({ name }) => name },
      {
        title: "State",
        cell: ({ failure, ageSeconds }) => {
          if (failure !== undefined) return badge("bad", "Fails");
          return ageSeconds === undefined ? badge("waiting", "Not listed yet") : badge("good", "Listed");
        },
      },
      { title: "Objects", kind: "number", cell: ({ objects }) => orDash(objects, number) },
      { title: "Age", kind: "number", cell: ({ ageSeconds }) => orDash(ageSeconds, roughDuration) },
      { title: "Last failure", kind: "wide", cell: ({ failure }) => failure?.text ?? "–" },
    ],
    rows: [
      ...inventory.map((listing) => ({ ...listing, name: `Instances: ${listing.source}` })),
      ...balancerListings.map((listing) => ({ ...listing, name: "Load balancers" })),
    ],
    empty: "Nothing is listed.",
  });
}

function requestsTable({ requests, at: now }: ManagerReport): Html {
  return table({
    id: "calls-table",
    caption: "Requests to the cloud since the start of this process",
    columns: [
      { title: "Operation", cell: ({ operation }) => html`<code>${operation}</code>` },
      { title: "Account", cell: ({ account }) => account },
      { title: "Requests", kind: "number", cell: ({ count }) => number(count) },
      { title: "Failed", kind: "number", cell: ({ failed }) => number(failed) },
      {
        title: "Average",
        kind: "number",
        cell: ({ totalMs, count }) => `${number(Math.round(totalMs / count))} ms`,
      },
      { title: "Last", cell: ({ lastAt }) => ago(lastAt, now) },
      {
        title: "Last failure",
        kind: "wide",
        cell: ({ lastError: error }) =>
          error === undefined ? "–" : html`${error.text} (${ago(error.at, now)})`,
      },
    ],
    rows: requests.toSorted((a, b) => b.count - a.count),
    empty: "No request was sent yet.",
  });
}

export function cloudPart({ report }: StatusView): Html {
  return html`${accountsTable(report)}<h3>Listings</h3>${listingsTable(report)}<h3>Requests</h3>${requestsTable(report)}`;
}

export function replicaPart({ report: { identity, queues, caches } }: StatusView): Html {
  const queueTable = table({
    id: "queues-table",
    caption: "Work queues of this replica",
    columns: [
      { title: "Queue", cell: ({ name }) => name },
      { title: "Waiting", kind: "number", cell: ({ waiting }) => number(waiting) },
      { title: "Active", kind: "number", cell: ({ active }) => number(active) },
      { title: "Delayed", kind: "number", cell: ({ delayed }) => number(delayed) },
    ],
    rows: queues,
    empty: "No controller runs.",
  });
  const cacheTable = table({
    id: "caches-table",
    caption: "Watches of this replica",
    columns: [
      { title: "Watch", cell: ([name]) => name },
      {
        title: "State",
        cell: ([, { problem, isSynced }]) => {
          if (problem !== undefined) return badge("bad", "Fails");
          return isSynced ? badge("good", "Synced") : badge("waiting", "Not synced yet");
        },
      },
      { title: "Objects", kind: "number", cell: ([, { objects }]) => number(objects) },
      {
        title: "Last news",
        kind: "number",
        cell: ([, { heardSecondsAgo }]) => `${roughDuration(heardSecondsAgo)} ago`,
      },
      { title: "Problem", kind: "wide", cell: ([, { problem }]) => problem ?? "–" },
    ],
    rows: Object.entries(caches),
    empty: "Nothing is watched.",
  });
  return html`<p>Identity: <code>${identity}</code></p>${queueTable}<h3>Watches</h3>${cacheTable}`;
}

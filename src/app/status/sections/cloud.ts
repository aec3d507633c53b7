// The sections with the cloud: requests, budgets and listings; and with the queues and watches of this replica.

import { messageOf } from "../../../core/errors.ts";
import { type Html, html } from "../html.ts";
import type { Snapshot } from "../snapshot.ts";
import { table } from "../table.ts";
import { roughDuration } from "../tone.ts";
import { ago, badge, number } from "../words.ts";

function budgetOf({ limit, remaining }: { limit: number | undefined; remaining: number | undefined }): Html {
  if (limit === undefined || remaining === undefined) return html`not reported by the cloud`;
  return html`${number(remaining)} of ${number(limit)} left <meter min="0" max="${limit}" low="${limit * 0.1}" high="${limit * 0.3}" optimum="${limit}" value="${remaining}">${number(remaining)} of ${number(limit)}</meter>`;
}

function accountsTable({ accounts }: Snapshot): Html {
  return table({
    id: "accounts-table",
    caption: "Accounts of the cloud with their request budget",
    columns: [
      { title: "Account" },
      { title: "State" },
      { title: "Budget" },
      { title: "In flight", kind: "number" },
      { title: "Waiting", kind: "number" },
    ],
    rows: accounts.map(({ name, budget, breakers }) => {
      const { level } = budget;
      const broken = breakers().filter(({ state }) => state !== "closed");
      const state =
        broken.length > 0
          ? html`${badge("bad", "Not reachable")} ${broken.map(({ endpoint }) => endpoint).join(", ")}`
          : level.closedFor > 0
            ? badge("waiting", `Rate limit: closed for ${roughDuration(level.closedFor)}`)
            : badge("good", "Open");
      return [name, state, budgetOf(level), number(level.inFlight), number(level.waiting)];
    }),
    empty: "No account is open.",
  });
}

function listingsTable({ sources, balancerListings, at }: Snapshot): Html {
  const all = [
    ...sources.map(({ source, latest, failure }) => ({ name: `Instances: ${source.name}`, latest, failure })),
    ...balancerListings.map(({ name, listing: { latest, failure } }) => ({
      name: `Load balancers ${name}`.trim(),
      latest,
      failure,
    })),
  ];
  return table({
    id: "listings-table",
    caption: "Listings of the cloud with their age",
    columns: [
      { title: "Listing" },
      { title: "State" },
      { title: "Objects", kind: "number" },
      { title: "Age", kind: "number" },
      { title: "Last failure", kind: "wide" },
    ],
    rows: all.map(({ name, latest, failure }) => [
      name,
      failure === undefined
        ? latest === undefined
          ? badge("waiting", "Not listed yet")
          : badge("good", "Listed")
        : badge("bad", "Fails"),
      latest === undefined ? "–" : number(latest.items.length),
      latest === undefined ? "–" : roughDuration(at.monotonic - latest.beganAt),
      failure === undefined ? "–" : messageOf(failure.error),
    ]),
    empty: "Nothing is listed.",
  });
}

function callsTable({ calls, at }: Snapshot): Html {
  return table({
    id: "calls-table",
    caption: "Requests to the cloud since the start of this process",
    columns: [
      { title: "Operation" },
      { title: "Account" },
      { title: "Requests", kind: "number" },
      { title: "Failed", kind: "number" },
      { title: "Average", kind: "number" },
      { title: "Last" },
      { title: "Last failure", kind: "wide" },
    ],
    rows: calls
      .toSorted((a, b) => b.count - a.count)
      .map(({ operation, account, count, failed, totalMs, lastAt, lastError }) => [
        html`<code>${operation}</code>`,
        account,
        number(count),
        number(failed),
        `${number(Math.round(totalMs / count))} ms`,
        ago(lastAt, at.wall),
        lastError === undefined ? "–" : html`${lastError.text} (${ago(lastError.at, at.wall)})`,
      ]),
    empty: "No request was sent yet.",
  });
}

export function cloudPart(snapshot: Snapshot): Html {
  return html`${accountsTable(snapshot)}<h3>Listings</h3>${listingsTable(snapshot)}<h3>Requests</h3>${callsTable(snapshot)}`;
}

export function replicaPart({ identity, queues, caches }: Snapshot): Html {
  const queueTable = table({
    id: "queues-table",
    caption: "Work queues of this replica",
    columns: [
      { title: "Queue" },
      { title: "Waiting", kind: "number" },
      { title: "Active", kind: "number" },
      { title: "Delayed", kind: "number" },
    ],
    rows: queues.map(([name, queue]) => [
      name,
      number(queue.depth),
      number(queue.active),
      number(queue.delayed),
    ]),
    empty: "No controller runs.",
  });
  const cacheTable = table({
    id: "caches-table",
    caption: "Watches of this replica",
    columns: [
      { title: "Watch" },
      { title: "State" },
      { title: "Objects", kind: "number" },
      { title: "Last news", kind: "number" },
      { title: "Problem", kind: "wide" },
    ],
    rows: caches.map(([name, { isSynced, objects, heardSecondsAgo, problem }]) => [
      name,
      problem === undefined
        ? isSynced
          ? badge("good", "Synced")
          : badge("waiting", "Not synced yet")
        : badge("bad", "Fails"),
      number(objects),
      `${roughDuration(heardSecondsAgo * 1000)} ago`,
      problem ?? "–",
    ]),
    empty: "Nothing is watched.",
  });
  return html`<p>Identity: <code>${identity}</code></p>${queueTable}<h3>Watches</h3>${cacheTable}`;
}

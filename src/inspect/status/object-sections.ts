// The sections of the page about the cluster: Nodes, Services, routes, volumes, holds, and the last changes.

import type { ManagerReport } from "../../app/report/manager-report.ts";
import { deletionHeldReason } from "../../controllers/service/desired/on-delete.ts";
import { milliseconds } from "../../core/brand.ts";
import { formatDuration, roughDuration } from "../../core/duration.ts";
import { messageIn } from "../../core/problem.ts";
import { shortList } from "../../core/text.ts";
import { type Html, type HtmlValue, html, table } from "./html.ts";
import type { Details, Row, StatusView } from "./status-view.ts";
import { pager, slice, type ViewQuery } from "./view-query.ts";
import { ago, badge, counted, explanation, isUnsettled, labelOf, number, type Tone } from "./words.ts";

const isFiltered = ({ filter, onlyUnsettled }: ViewQuery): boolean => filter !== "" || onlyUnsettled;

function isShown(query: ViewQuery, row: { readonly name: string; readonly tone: Tone }): boolean {
  if (query.onlyUnsettled && !isUnsettled(row)) return false;
  return query.filter === "" || row.name.toLowerCase().includes(query.filter);
}

/** The columns and texts of each object table. */
const objectTables = {
  nodes: {
    title: "Node",
    columns: ["Address", "Provider id"],
    what: "Node",
    many: "Nodes",
    caption: "Nodes with their state, address, provider id and problem",
    none: "The cluster has no Node yet.",
  },
  services: {
    title: "Service",
    columns: ["Address"],
    what: "Service",
    many: "Services",
    caption: "Services of type LoadBalancer with their state, address and problem",
    none: "No Service has the type LoadBalancer.",
  },
  volumes: {
    title: "Claim or PersistentVolume",
    columns: ["Volume", "Attached to"],
    what: "volume",
    many: "Volumes",
    caption: "Claims, and PersistentVolumes without a claim, with their state, volume and problem",
    none: "There are no claims and no PersistentVolumes.",
  },
} as const;

/** Columns that show an identifier of the cloud. */
const identifiers: readonly string[] = ["Provider id", "Volume"];

function objectTable(id: keyof typeof objectTables, rows: readonly Row[], query: ViewQuery): Html {
  const { title, columns, what, many, caption, none } = objectTables[id];
  const shown = rows.filter((row) => isShown(query, row));
  const part = slice(shown, id, query);
  const cellOf = (column: string, details: Details | undefined): HtmlValue => {
    const text = details?.cells[column] ?? "–";
    return details !== undefined && identifiers.includes(column) ? html`<code>${text}</code>` : text;
  };
  return html`${table({
    id: `${id}-table`,
    caption,
    columns: [
      { title, cell: ({ name }) => name },
      {
        title: "State",
        cell: ({ tone, details }) =>
          details === undefined ? badge("quiet", "Deleted") : badge(tone, labelOf(details.state)),
      },
      ...columns.map((column) => ({ title: column, cell: ({ details }: Shown) => cellOf(column, details) })),
      { title: "Why", kind: "wide", cell: ({ details }) => details && explanation(details) },
    ],
    rows: part.items.map((row): Shown => ({ ...row, details: row.details() })),
    empty: isFiltered(query) ? `No ${what} matches the filter.` : none,
  })}${pager(query, id, part, many)}`;
}

type Shown = Omit<Row, "details"> & { readonly details: Details | undefined };

export const nodesPart = ({ nodes }: StatusView, query: ViewQuery): Html =>
  objectTable("nodes", nodes, query);

function listedText({ balancerListings }: ManagerReport): string | undefined {
  const ages = balancerListings.flatMap(({ ageSeconds }) => ageSeconds ?? []);
  if (balancerListings.length === 0) return undefined;
  if (ages.length === 0) return "The load balancers of the cloud were not listed yet.";
  return `As the cloud listed load balancers ${roughDuration(Math.max(...ages))} ago. They are listed every 20 to 30 minutes, and when a Service changes.`;
}

export function servicesPart({ services, report }: StatusView, query: ViewQuery): Html {
  const listed = listedText(report);
  return html`${listed && html`<p>${listed}</p>`}${objectTable("services", services, query)}`;
}

export const volumesPart = ({ volumes }: StatusView, query: ViewQuery): Html =>
  volumes === undefined
    ? html`<p class="empty">The volume controller does not run: --controllers has no volume.</p>`
    : objectTable("volumes", volumes, query);

/** Shows "12 of 100" with a bar, or the number alone. */
function filled(there: number, limit: number | undefined): Html {
  if (limit === undefined) return html`${number(there)}`;
  return html`${number(there)} of ${number(limit)} <meter min="0" max="${limit}" low="${limit * 0.8}" high="${limit * 0.9}" optimum="0" value="${there}">${number(there)} of ${number(limit)}</meter>`;
}

/** For a table that was not listed in the last sync. */
const unknown = "unknown";

export function routesPart({ report: { routes } }: StatusView): Html {
  return table({
    id: "routes-table",
    caption: "The last sync of each route table",
    columns: [
      { title: "Table", cell: ({ table: name }) => name ?? "Route table" },
      {
        title: "State",
        cell: ({ failed, isComplete, wanted, present, waitingNodes }) => {
          if (failed > 0) return badge("bad", "Failed");
          if (!isComplete) return badge("waiting", "Incomplete");
          if (waitingNodes > 0) return badge("waiting", "Waits for instances");
          return present < wanted ? badge("waiting", "In progress") : badge("good", "Synced");
        },
      },
      {
        title: "Desired",
        kind: "number",
        cell: ({ isComplete, wanted, waitingNodes }) => {
          if (!isComplete) return unknown;
          if (waitingNodes === 0) return number(wanted);
          return `${number(wanted)}, and the targets of ${counted(waitingNodes, "Node")} whose instance is not known, which are kept`;
        },
      },
      {
        title: "All routes in the table",
        kind: "number",
        cell: ({ isComplete, there, limit }) => (isComplete ? filled(there, limit) : unknown),
      },
      { title: "Created", kind: "number", cell: ({ created }) => number(created) },
      { title: "Removed", kind: "number", cell: ({ removed }) => number(removed) },
      { title: "Failed", kind: "number", cell: ({ failed }) => number(failed) },
      {
        title: "Took",
        kind: "number",
        cell: ({ duration }) => formatDuration(milliseconds(Math.round(duration))),
      },
    ],
    rows: routes,
    empty: "Routes are not managed here, or no sync has ended yet.",
  });
}

const titles = {
  nodes: "Nodes",
  "load-balancers": "Load balancers",
  routes: "Routes",
  volumes: "Volumes",
} as const;
/** More rows would hide the cause, which is the same for all. */
const maxHolds = 50;

/** Services whose deletion waits until a user corrects an annotation. */
export const deletionsOnHold = ({ findings }: ManagerReport) =>
  findings.filter(({ object, reason }) => object === "Service" && reason === deletionHeldReason);

/** Objects that a mass limit or an annotation holds, or that wait for a proof of absence. */
export function holdsPart({ report }: StatusView): Html {
  const { massLimits, balancersOnHold, orphans, possibleOrphans } = report;
  const limits = table({
    id: "limits-table",
    caption: "What the mass limit (--removal-limit) counts and holds",
    columns: [
      { title: "Mass limit", cell: ({ kind }) => titles[kind] },
      { title: "Last 10 minutes", kind: "number", cell: ({ recent }) => number(recent) },
      { title: "Held", kind: "number", cell: ({ held }) => number(held.length) },
      {
        title: "Details",
        kind: "wide",
        cell: ({ held, howToRelease }) =>
          held.length === 0 ? "Nothing" : html`<p>${shortList(held)}</p><p><code>${howToRelease}</code></p>`,
      },
    ],
    rows: massLimits,
    empty: "",
  });
  const waiting = table({
    id: "holds-table",
    caption: "Load balancers that are neither created nor removed for now",
    columns: [
      { title: "Service", cell: ({ service }) => service },
      { title: "Reason", cell: ({ reason }) => reason },
      { title: "Message", kind: "wide", cell: ({ message }) => message },
    ],
    rows: [
      ...deletionsOnHold(report).map((problem) => ({
        service: problem.name,
        reason: problem.reason,
        message: messageIn(problem),
      })),
      ...balancersOnHold,
    ].slice(0, maxHolds),
    empty: "No load balancer waits for a proof or for a user.",
  });
  const namesOf = (list: typeof orphans) => shortList(list.map(({ name }) => name));
  const kept = html`<p>Load balancers without a Service, which are kept: ${namesOf(orphans)}</p>`;
  const possible = html`<p>Load balancers without a Service in this cluster, whose marks name no cluster: ${namesOf(possibleOrphans)}. They are kept. If no other cluster has them, delete them with the command <code>cleanup</code>.</p>`;
  const orphaned =
    orphans.length + possibleOrphans.length === 0
      ? html`<p class="empty">No load balancer is without a Service.</p>`
      : html`${orphans.length > 0 ? kept : ""}${possibleOrphans.length > 0 ? possible : ""}`;
  return html`${limits}<h3>Load balancers on hold</h3>${waiting}<h3>Orphans</h3>${orphaned}`;
}

type Decision = ManagerReport["journal"][number];

const outcomes: Readonly<Record<Decision["outcome"], readonly [Tone, string]>> = {
  done: ["good", "Done"],
  refused: ["bad", "Refused"],
  failed: ["bad", "Failed"],
  observed: ["quiet", "Only observed"],
};

function isShownDecision(query: ViewQuery, { object, outcome }: Decision): boolean {
  if (query.onlyUnsettled && outcome !== "refused" && outcome !== "failed") return false;
  return query.filter === "" || object.toLowerCase().includes(query.filter);
}

export function decisionsPart({ report: { journal, at: now, leads } }: StatusView, query: ViewQuery): Html {
  const shown = journal.filter((entry) => isShownDecision(query, entry));
  const part = slice(shown, "decisions", query);
  return html`${table({
    id: "decisions-table",
    caption: "The last changes, newest first",
    columns: [
      { title: "Object", cell: ({ object }) => object },
      { title: "When", cell: ({ at }) => ago(at, now) },
      { title: "Result", cell: ({ outcome }) => badge(...outcomes[outcome]) },
      {
        title: "Why",
        kind: "wide",
        cell: ({ why, detail }) =>
          html`<p>${why}</p>${detail === undefined ? undefined : html`<p class="next">${detail}</p>`}`,
      },
      {
        title: "Change",
        kind: "wide",
        cell: ({ target, action }) => html`<span class="target">${target}</span> <code>${action}</code>`,
      },
    ],
    rows: part.items,
    empty: isFiltered(query)
      ? "No change matches the filter."
      : leads
        ? "Nothing has been changed since the start: everything is as it should be."
        : "This replica has changed nothing.",
  })}${pager(query, "decisions", part, "changes")}`;
}

// The sections with the Nodes and the Services of the cluster.

import { type Html, type HtmlValue, html } from "../html.ts";
import type { NodeDetails, NodeRow, ServiceRow, Snapshot } from "../snapshot.ts";
import { table } from "../table.ts";
import { isUnsettled, labels } from "../tone.ts";
import { slice, type ViewQuery } from "../view-query.ts";
import { badge, explanation, pager } from "../words.ts";

function isShown(view: ViewQuery, row: NodeRow | ServiceRow): boolean {
  if (view.onlyUnsettled && !isUnsettled(row)) return false;
  return view.filter === "" || row.name.toLowerCase().includes(view.filter);
}

const isFiltered = ({ filter, onlyUnsettled }: ViewQuery): boolean => filter !== "" || onlyUnsettled;

function nodeCells(row: NodeRow, details: NodeDetails | undefined): readonly HtmlValue[] {
  if (details === undefined) return [row.name, badge("quiet", "Deleted"), "–", "–", undefined];
  const { state, address, providerID } = details;
  return [
    row.name,
    badge(row.tone, labels[state]),
    address ?? "–",
    html`<code>${providerID ?? "–"}</code>`,
    explanation(details),
  ];
}

const serviceCells = (row: ServiceRow) => [
  row.name,
  badge(row.tone, labels[row.state]),
  row.addresses.join(", ") || "–",
  explanation(row),
];

export function nodesPart({ nodes, detailsOf }: Snapshot, view: ViewQuery): Html {
  const shown = nodes.filter((row) => isShown(view, row));
  const part = slice(shown, "nodes", view);
  return html`${table({
    id: "nodes-table",
    caption: "Nodes with their state, address, provider id and what is wrong",
    columns: [
      { title: "Node" },
      { title: "State" },
      { title: "Address" },
      { title: "Provider id" },
      { title: "Why", kind: "wide" },
    ],
    rows: part.items.map((row) => nodeCells(row, detailsOf(row))),
    empty: isFiltered(view) ? "No Node matches the filter." : "The cluster has no Node yet.",
  })}${pager(view, "nodes", part, "Nodes")}`;
}

export function servicesPart({ services }: Snapshot, view: ViewQuery): Html {
  const shown = services.filter((row) => isShown(view, row));
  const part = slice(shown, "services", view);
  return html`${table({
    id: "services-table",
    caption: "Services of type LoadBalancer with their state, address and what is wrong",
    columns: [{ title: "Service" }, { title: "State" }, { title: "Address" }, { title: "Why", kind: "wide" }],
    rows: part.items.map(serviceCells),
    empty: isFiltered(view) ? "No Service matches the filter." : "No Service has the type LoadBalancer.",
  })}${pager(view, "services", part, "Services")}`;
}

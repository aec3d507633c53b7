// The section with everything that is held back: by a mass limit, or until an absence is proved.

import { limitFlags } from "../../../controllers/removal-history.ts";
import { shortList } from "../../../core/text.ts";
import { type Html, html } from "../html.ts";
import type { Snapshot } from "../snapshot.ts";
import { table } from "../table.ts";
import { number } from "../words.ts";

const titles = { nodes: "Nodes", "load-balancers": "Load balancers", routes: "Routes" } as const;
/** More rows would hide the cause, which is the same for all. */
const maxHolds = 50;

export function holdsPart({ massLimits, balancerHolds, orphans }: Snapshot): Html {
  const limits = table({
    id: "limits-table",
    caption: "What each mass limit counts and holds",
    columns: [
      { title: "Mass limit" },
      { title: "Last 10 minutes", kind: "number" },
      { title: "Held", kind: "number" },
      { title: "Details", kind: "wide" },
    ],
    rows: massLimits.map(({ kind, recent, held, howToRelease }) => [
      html`${titles[kind]} <code>--${limitFlags[kind]}</code>`,
      number(recent),
      number(held.length),
      held.length === 0 ? "Nothing" : html`<p>${shortList(held)}</p><p><code>${howToRelease}</code></p>`,
    ]),
    empty: "",
  });
  const waiting = table({
    id: "holds-table",
    caption: "Load balancers that are neither created nor removed for now",
    columns: [{ title: "Services" }, { title: "Reason" }, { title: "Message", kind: "wide" }],
    rows: balancerHolds
      .slice(0, maxHolds)
      .map(({ services, group, reason, message }) => [services.join(", ") || group, reason, message]),
    empty: "No load balancer waits for a proof.",
  });
  const names = orphans.map(({ name, group }) => name ?? group);
  const orphaned =
    names.length === 0
      ? html`<p class="empty">No load balancer is without a Service.</p>`
      : html`<p>Load balancers without a Service, which are kept: ${shortList(names)}</p>`;
  return html`${limits}<h3>Load balancers on hold</h3>${waiting}<h3>Orphans</h3>${orphaned}`;
}

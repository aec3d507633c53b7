// The section with the pod routes: the last sync of each route table.

import { milliseconds } from "../../../core/brand.ts";
import { formatDuration } from "../../../core/duration.ts";
import { type Html, html } from "../html.ts";
import type { Snapshot } from "../snapshot.ts";
import { table } from "../table.ts";
import { badge, number } from "../words.ts";

/** "12 of 100" with a bar, or the number alone. */
function filled(there: number, limit: number | undefined): Html {
  if (limit === undefined) return html`${number(there)}`;
  return html`${number(there)} of ${number(limit)} <meter min="0" max="${limit}" low="${limit * 0.8}" high="${limit * 0.9}" optimum="0" value="${there}">${number(there)} of ${number(limit)}</meter>`;
}

export function routesPart({ routes }: Snapshot): Html {
  return table({
    id: "routes-table",
    caption: "The last sync of each route table",
    columns: [
      { title: "Table" },
      { title: "State" },
      { title: "Desired", kind: "number" },
      { title: "In the cloud", kind: "number" },
      { title: "Created", kind: "number" },
      { title: "Removed", kind: "number" },
      { title: "Failed", kind: "number" },
      { title: "Took", kind: "number" },
    ],
    rows: routes.map(
      ({ table: name, isComplete, wanted, there, limit, created, removed, failed, duration }) => [
        name ?? "Route table",
        failed > 0
          ? badge("bad", "Failed")
          : isComplete
            ? badge("good", "Synced")
            : badge("waiting", "Incomplete"),
        number(wanted),
        filled(there, limit),
        number(created),
        number(removed),
        number(failed),
        formatDuration(milliseconds(Math.round(duration))),
      ],
    ),
    empty: "Routes are not managed here, or no sync has ended yet.",
  });
}

// The section with the last changes: what was changed, why, and with which result.

import type { JournalEntry } from "../../../runtime/journal.ts";
import { type Html, html } from "../html.ts";
import type { Snapshot } from "../snapshot.ts";
import { table } from "../table.ts";
import type { Tone } from "../tone.ts";
import { slice, type ViewQuery } from "../view-query.ts";
import { ago, badge, pager } from "../words.ts";

const outcomes: Readonly<Record<JournalEntry["outcome"], readonly [Tone, string]>> = {
  done: ["good", "Done"],
  refused: ["bad", "Refused"],
  failed: ["bad", "Failed"],
  observed: ["quiet", "Only observed"],
};

function isShown(view: ViewQuery, { object, outcome }: JournalEntry): boolean {
  if (view.onlyUnsettled && outcome !== "refused" && outcome !== "failed") return false;
  return view.filter === "" || object.toLowerCase().includes(view.filter);
}

export function decisionsPart({ journal, at, leads }: Snapshot, view: ViewQuery): Html {
  const shown = journal.filter((entry) => isShown(view, entry));
  const part = slice(shown, "decisions", view);
  const isFiltered = view.filter !== "" || view.onlyUnsettled;
  return html`${table({
    id: "decisions-table",
    caption: "The last changes, newest first",
    columns: [
      { title: "Object" },
      { title: "When" },
      { title: "Result" },
      { title: "Why", kind: "wide" },
      { title: "Change", kind: "wide" },
    ],
    rows: part.items.map((entry) => [
      entry.object,
      ago(entry.at, at.wall),
      badge(...outcomes[entry.outcome]),
      html`<p>${entry.why}</p>${entry.detail === undefined ? undefined : html`<p class="next">${entry.detail}</p>`}`,
      html`<span class="target">${entry.target}</span> <code>${entry.action}</code>`,
    ]),
    empty: isFiltered
      ? "No change matches the filter."
      : leads
        ? "Nothing was changed since the start: everything is as it should be."
        : "This replica has changed nothing. The leader has the list.",
  })}${pager(view, "decisions", part, "changes")}`;
}

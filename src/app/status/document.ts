// The page /status as one HTML document without any external resource. What changes is in elements with `data-live`; the script
// replaces only those. Without the script, the document is complete, and a browser reloads it every 30 seconds.

import { type Html, html, trusted } from "./html.ts";
import script from "./live.js" with { type: "text" };
import { cloudPart, replicaPart } from "./sections/cloud.ts";
import { decisionsPart } from "./sections/decisions.ts";
import { holdsPart } from "./sections/holds.ts";
import { nodesPart, servicesPart } from "./sections/objects.ts";
import { type About, aboutPart, noticesPart, roleOf, summaryText, tilesPart } from "./sections/overview.ts";
import { routesPart } from "./sections/routes.ts";
import type { Snapshot } from "./snapshot.ts";
import style from "./status.css" with { type: "text" };
import type { ViewQuery } from "./view-query.ts";
import { badge } from "./words.ts";

/** The texts whose hashes the Content-Security-Policy allows. */
export const inlineTexts = { style, script } as const;

const sections = [
  ["nodes", "Nodes", nodesPart],
  ["services", "Services", servicesPart],
  ["routes", "Routes", routesPart],
  ["holds", "Holds", holdsPart],
  ["decisions", "Decisions", decisionsPart],
  ["cloud", "Cloud", cloudPart],
  ["replica", "This replica", replicaPart],
] as const;

function section([id, title, part]: (typeof sections)[number], snapshot: Snapshot, view: ViewQuery): Html {
  return html`<section id="${id}" aria-labelledby="${id}-title">
<h2 id="${id}-title">${title}</h2>
<div id="${id}-live" data-live>${part(snapshot, view)}</div>
</section>
`;
}

function filterForm({ filter, onlyUnsettled }: ViewQuery): Html {
  return html`<form id="filter" role="search" method="get" action="">
<label for="filter-text">Find a Node, Service or change</label>
<input id="filter-text" name="filter" type="search" value="${filter}" placeholder="Part of a name" autocomplete="off" spellcheck="false">
<label class="choice"><input id="filter-unsettled" type="checkbox" name="show" value="unsettled"${onlyUnsettled ? trusted(" checked") : undefined}> Only what is not in order</label>
<button type="submit">Show</button>
</form>`;
}

export function renderDocument(snapshot: Snapshot, view: ViewQuery, about: About): string {
  const { tone, label } = roleOf(snapshot);
  const { program } = about;
  const at = new Date(snapshot.at.wall).toISOString();
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${program}: ${label}</title>
<link rel="icon" href="data:,">
<noscript><meta http-equiv="refresh" content="30"></noscript>
<style>${trusted(style)}</style>
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<header>
<div class="bar">
<h1>${program}</h1>
<p id="role" data-live>${badge(tone, label)}</p>
<p id="about" class="about" data-live>${aboutPart(snapshot, about)}</p>
<p class="fresh"><span id="fresh">As of <time datetime="${at}">${at.slice(11, 19)} UTC</time></span> <button id="pause" type="button" aria-pressed="false" hidden>Pause updates</button></p>
</div>
</header>
<nav aria-label="Sections"><ul>${sections.map(([id, title]) => html`<li><a href="#${id}">${title}</a></li>`)}</ul></nav>
<main id="main" tabindex="-1">
<h2 class="hidden">Overview</h2>
<p id="summary" role="status">${summaryText(snapshot)}</p>
<div id="notices" data-live>${noticesPart(snapshot)}</div>
<div id="tiles" data-live>${tilesPart(snapshot)}</div>
${filterForm(view)}
${sections.map((each) => section(each, snapshot, view))}</main>
<script>${trusted(script)}</script>
</body>
</html>
`.text;
}

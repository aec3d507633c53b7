// Serves the page /status as one HTML document without external resources. All viewers share one view of the state per second, so
// many open pages cost the manager little. Dynamic content is in elements with `data-live`; the script replaces only these.
// Without the script, the document is complete, and a browser reloads it every 30 seconds.

import { createHash } from "node:crypto";
import type { Manager } from "../../app/manager/manager.ts";
import { seconds } from "../../core/brand.ts";
import type { Clock } from "../../platform/clock.ts";
import { CachedValue } from "../../server/answers.ts";
import { readOnly, type ServedPage } from "../../server/secure-port.ts";
import { cloudPart, replicaPart } from "./cloud-sections.ts";
import { type Html, html, trusted } from "./html.ts";
import script from "./live.js" with { type: "text" };
import {
  decisionsPart,
  holdsPart,
  nodesPart,
  routesPart,
  servicesPart,
  volumesPart,
} from "./object-sections.ts";
import { aboutPart, noticesPart, roleOf, summaryText, tilesPart } from "./overview.ts";
import style from "./status.css" with { type: "text" };
import { type StatusView, statusViewOf } from "./status-view.ts";
import { readQuery, type ViewQuery } from "./view-query.ts";
import { badge } from "./words.ts";

const sections = [
  ["nodes", "Nodes", nodesPart],
  ["services", "Services", servicesPart],
  ["routes", "Routes", routesPart],
  ["volumes", "Volumes", volumesPart],
  ["holds", "Holds", holdsPart],
  ["decisions", "Decisions", decisionsPart],
  ["cloud", "Cloud", cloudPart],
  ["replica", "This replica", replicaPart],
] as const;

function section([id, title, part]: (typeof sections)[number], view: StatusView, query: ViewQuery): Html {
  return html`<section id="${id}" aria-labelledby="${id}-title">
<h2 id="${id}-title">${title}</h2>
<div id="${id}-live" data-live>${part(view, query)}</div>
</section>
`;
}

function filterForm({ filter, onlyUnsettled }: ViewQuery): Html {
  return html`<form id="filter" role="search" method="get" action="">
<label for="filter-text">Find a Node, Service, volume or change</label>
<input id="filter-text" name="filter" type="search" value="${filter}" placeholder="Part of a name" autocomplete="off" spellcheck="false">
<label class="choice"><input id="filter-unsettled" type="checkbox" name="show" value="unsettled"${onlyUnsettled ? trusted(" checked") : undefined}> Only what is not in order</label>
<button type="submit">Show</button>
</form>`;
}

export function renderDocument(view: StatusView, query: ViewQuery, program: string): string {
  const { report } = view;
  const { tone, label } = roleOf(report);
  const { at } = report;
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
<p id="about" class="about" data-live>${aboutPart(report)}</p>
<p class="fresh"><span id="fresh">As of <time datetime="${at}">${at.slice(11, 19)} UTC</time></span> <button id="pause" type="button" aria-pressed="false" hidden>Pause updates</button></p>
</div>
</header>
<nav aria-label="Sections"><ul>${sections.map(([id, title]) => html`<li><a href="#${id}">${title}</a></li>`)}</ul></nav>
<main id="main" tabindex="-1">
<h2 class="hidden">Overview</h2>
<p id="summary" role="status">${summaryText(view)}</p>
<div id="notices" data-live>${noticesPart(view)}</div>
<div id="tiles" data-live>${tilesPart(view)}</div>
${filterForm(query)}
${sections.map((each) => section(each, view, query))}</main>
<script>${trusted(script)}</script>
</body>
</html>
`.text;
}

const hashOf = (text: string): string => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

/** Only this style sheet, this script, and requests to the same server. */
const contentSecurityPolicy = [
  "default-src 'none'",
  `style-src ${hashOf(style)}`,
  `script-src ${hashOf(script)}`,
  "connect-src 'self'",
  "img-src data:",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join("; ");

const headers = {
  "content-type": "text/html; charset=utf-8",
  "content-security-policy": contentSecurityPolicy,
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
} as const;

interface StatusPageOptions {
  readonly manager: Manager;
  readonly program: string;
  readonly clock: Pick<Clock, "monotonic">;
}

export function statusPage({ manager, program, clock }: StatusPageOptions): ServedPage {
  const view = new CachedValue(() => statusViewOf(manager), clock, seconds(1));
  return readOnly(({ query }) => ({
    status: 200,
    headers,
    body: renderDocument(view.get(), readQuery(query), program),
  }));
}

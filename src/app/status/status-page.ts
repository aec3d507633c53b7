// Serves the page /status. All viewers share one view of the state per second, so the number of open pages costs the manager little.

import { createHash } from "node:crypto";
import { seconds } from "../../core/brand.ts";
import type { Clock } from "../../platform/clock.ts";
import { CachedValue } from "../../server/answers.ts";
import { type Page, readOnly } from "../../server/secure-port.ts";
import type { Manager } from "../manager/manager.ts";
import { inlineTexts, renderDocument } from "./document.ts";
import { statusViewOf } from "./status-view.ts";
import { readQuery } from "./view-query.ts";

export interface StatusPageOptions {
  readonly manager: Manager;
  readonly program: string;
  readonly clock: Pick<Clock, "monotonic">;
}

const hashOf = (text: string): string => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

/** Only this style sheet, this script, and requests to the same server. */
const contentSecurityPolicy = [
  "default-src 'none'",
  `style-src ${hashOf(inlineTexts.style)}`,
  `script-src ${hashOf(inlineTexts.script)}`,
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

export function statusPage({ manager, program, clock }: StatusPageOptions): Page {
  const view = new CachedValue(() => statusViewOf(manager), clock, seconds(1));
  return readOnly(({ query }) => ({
    status: 200,
    headers,
    body: renderDocument(view.get(), readQuery(query), program),
  }));
}

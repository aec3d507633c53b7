// The table of reports in docs/smoke.md.

import { expect, test } from "bun:test";
import { reportsTable } from "../../scripts/docs/smoke-page.ts";
import type { SmokeReport } from "../../src/inspect/smoke/report.ts";

const report: SmokeReport = {
  format: 1,
  cloud: "fake",
  version: "v0.1.0+0123456789ab",
  runtime: "Bun 1.4.5",
  contract: 3,
  date: "2026-11-29",
  result: "failed",
  parts: [
    { part: "load balancer", result: "passed", isRemoved: true },
    { part: "volume", result: "failed", isRemoved: false },
  ],
  steps: [
    { part: "load balancer", step: "create", seconds: 10.4 },
    { part: "load balancer", step: "remove", seconds: 31 },
  ],
  requests: [
    { operation: "GET /balancers", sent: 7, failed: 0 },
    { operation: "POST /balancers", sent: 1, failed: 0 },
  ],
};

test("docs/smoke.md states that no report has been received while no report exists", () => {
  expect(reportsTable([])).toBe("No report has been received yet.");
});

test("docs/smoke.md lists reports with the newest first, including objects that were not removed", () => {
  const rows = reportsTable([report, { ...report, date: "2026-11-30" }]).split("\n");
  expect(rows.slice(2)).toEqual(
    ["2026-11-30", "2026-11-29"].map(
      (date) =>
        `| ${date} | fake | v0.1.0+0123456789ab | failed | passed | skipped | failed, not removed | 41 s | 8 |`,
    ),
  );
});

// The text of /healthz, /livez and /readyz, identical to that of Kubernetes components, with ?verbose, ?exclude and a page for
// each check.

import { refusal, textAnswer } from "./answers.ts";
import type { CheckResult, Health, HealthPage } from "./health.ts";
import { type Page, type PageRequest, readOnly } from "./secure-port.ts";

function answer(page: HealthPage, results: readonly CheckResult[], query: URLSearchParams) {
  const excluded = new Set(query.getAll("exclude"));
  const lines = results.map(({ name, problem }) => {
    if (excluded.delete(name)) return `[+]${name} excluded: ok`;
    return problem === undefined ? `[+]${name} ok` : `[-]${name} failed: reason withheld`;
  });
  if (excluded.size > 0) {
    const names = [...excluded].map((name) => JSON.stringify(name.slice(0, 80))).join(",");
    lines.push(`warn: some health checks cannot be excluded: no matches for ${names}`);
  }
  if (lines.some((line) => line.startsWith("[-]"))) {
    return textAnswer(`${[...lines, `${page} check failed`].join("\n")}\n`, 500);
  }
  if (!query.has("verbose")) return textAnswer("ok");
  return textAnswer(`${[...lines, `${page} check passed`].join("\n")}\n`);
}

/** Only the page of a single check shows the problem, because that page requires authorization. */
function answerOne(health: Health, page: HealthPage, { path }: PageRequest) {
  const result = health.runOne(page, path.slice(page.length + 2));
  if (result === undefined)
    return refusal(404, `Check ${path} not found. GET /${page}?verbose lists all checks.`);
  return result.problem === undefined
    ? textAnswer("ok")
    : textAnswer(`internal server error: ${result.problem}\n`, 500);
}

export function healthPages(health: Health): Readonly<Record<string, Page>> {
  return Object.fromEntries(
    (["healthz", "livez", "readyz"] as const).flatMap((page) => [
      [`/${page}`, readOnly(({ query }) => answer(page, health.run(page), query))],
      [`/${page}/`, readOnly((request) => answerOne(health, page, request))],
    ]),
  );
}

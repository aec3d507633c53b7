// The health checks behind /healthz, /livez and /readyz, and their pages. Components register checks, which return their problem
// immediately.

import { messageOf } from "../core/error-message.ts";
import { refusal, textAnswer } from "./answers.ts";
import { type PageRequest, readOnly, type ServedPage } from "./secure-port.ts";

export type HealthPage = "healthz" | "livez" | "readyz";

export interface HealthCheck {
  /** Upstream's name if it has one: "leaderElection", "cloud-node". */
  readonly name: string;
  readonly pages: readonly HealthPage[];
  /** Returns the problem; undefined while the check passes. */
  readonly check: () => string | undefined;
  /** Shown on the page of the check while it passes. */
  readonly note?: () => string | undefined;
}

export interface HealthCheckResult {
  readonly name: string;
  readonly problem: string | undefined;
  readonly note?: string | undefined;
}

function problemOf(check: HealthCheck): string | undefined {
  try {
    return check.check();
  } catch (error) {
    return `the check failed with an error: ${messageOf(error)}`;
  }
}

export class Health {
  readonly #checks = new Map<string, HealthCheck>();
  readonly #onResult: (page: HealthPage, result: HealthCheckResult) => void;

  constructor(onResult: (page: HealthPage, result: HealthCheckResult) => void = () => undefined) {
    this.#onResult = onResult;
  }

  /** Returns the function that removes the check. Names must be unique. */
  add(check: HealthCheck): () => void {
    if (this.#checks.has(check.name)) {
      throw new Error(`The health check ${check.name} is already registered.`);
    }
    this.#checks.set(check.name, check);
    return () => this.#checks.delete(check.name);
  }

  run(page: HealthPage): readonly HealthCheckResult[] {
    return this.#checksOf(page).map((check) => this.#run(page, check));
  }

  /** Undefined when the page has no check of this name. */
  runOne(page: HealthPage, name: string): HealthCheckResult | undefined {
    const check = this.#checksOf(page).find((candidate) => candidate.name === name);
    return check === undefined ? undefined : this.#run(page, check);
  }

  #checksOf(page: HealthPage): readonly HealthCheck[] {
    const checks = [...this.#checks.values()].filter(({ pages }) => pages.includes(page));
    // As in upstream, "ping" always passes, because the server responds.
    return checks.length > 0 ? checks : [{ name: "ping", pages: [page], check: () => undefined }];
  }

  #run(page: HealthPage, check: HealthCheck): HealthCheckResult {
    const result = { name: check.name, problem: problemOf(check), note: check.note?.() };
    this.#onResult(page, result);
    return result;
  }
}

function answer(page: HealthPage, results: readonly HealthCheckResult[], query: URLSearchParams) {
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
    ? textAnswer(result.note === undefined ? "ok" : `ok\n${result.note}\n`)
    : textAnswer(`internal server error: ${result.problem}\n`, 500);
}

/**
 * The text of /healthz, /livez and /readyz, identical to other Kubernetes components, with ?verbose, ?exclude and a page for each check.
 */
export function healthPages(health: Health): Readonly<Record<string, ServedPage>> {
  return Object.fromEntries(
    (["healthz", "livez", "readyz"] as const).flatMap((page) => [
      [`/${page}`, readOnly(({ query }) => answer(page, health.run(page), query))],
      [`/${page}/`, readOnly((request) => answerOne(health, page, request))],
    ]),
  );
}

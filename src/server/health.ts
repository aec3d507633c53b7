// The health checks behind /healthz, /livez and /readyz. Components register checks, which return their problem immediately.

import { messageOf } from "../core/errors.ts";

export type HealthPage = "healthz" | "livez" | "readyz";

export interface HealthCheck {
  /** Upstream's name if it has one: "leaderElection", "cloud-node". */
  readonly name: string;
  readonly pages: readonly HealthPage[];
  /** The problem; undefined while the check passes. */
  readonly check: () => string | undefined;
}

export interface CheckResult {
  readonly name: string;
  readonly problem: string | undefined;
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
  readonly #onResult: (page: HealthPage, result: CheckResult) => void;

  constructor(onResult: (page: HealthPage, result: CheckResult) => void = () => undefined) {
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

  run(page: HealthPage): readonly CheckResult[] {
    return this.#checksOf(page).map((check) => this.#run(page, check));
  }

  /** Undefined when the page has no check of this name. */
  runOne(page: HealthPage, name: string): CheckResult | undefined {
    const check = this.#checksOf(page).find((candidate) => candidate.name === name);
    return check === undefined ? undefined : this.#run(page, check);
  }

  #checksOf(page: HealthPage): readonly HealthCheck[] {
    const checks = [...this.#checks.values()].filter(({ pages }) => pages.includes(page));
    // As in upstream, "ping" passes without any check, because the server answers.
    return checks.length > 0 ? checks : [{ name: "ping", pages: [page], check: () => undefined }];
  }

  #run(page: HealthPage, check: HealthCheck): CheckResult {
    const result = { name: check.name, problem: problemOf(check) };
    this.#onResult(page, result);
    return result;
  }
}

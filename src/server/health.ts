// The checks behind /healthz, /livez and /readyz: whoever knows something registers a check, and says which of the three
// it concerns. A check answers at once with what is wrong, or undefined; it asks nobody and waits for nothing.

import { messageOf } from "../core/errors.ts";

export type HealthPage = "healthz" | "livez" | "readyz";

export interface HealthCheck {
  /** As upstream names them: "leaderElection", "cloud-node". */
  readonly name: string;
  readonly pages: readonly HealthPage[];
  /** What is wrong, in words for the log; undefined while all is well. */
  readonly check: () => string | undefined;
}

export interface CheckResult {
  readonly name: string;
  readonly problem: string | undefined;
}

export interface Health {
  /** Gives back what removes it again. A name counts once. */
  add(check: HealthCheck): () => void;
  run(page: HealthPage): readonly CheckResult[];
  /** Undefined when there is none of that name. */
  runOne(page: HealthPage, name: string): CheckResult | undefined;
}

function safely(check: HealthCheck): string | undefined {
  try {
    return check.check();
  } catch (error) {
    return `the check itself failed: ${messageOf(error)}`;
  }
}

export function createHealth(
  onResult: (page: HealthPage, result: CheckResult) => void = () => undefined,
): Health {
  const checks = new Map<string, HealthCheck>();
  const on = (page: HealthPage): readonly HealthCheck[] => {
    const concerned = [...checks.values()].filter(({ pages }) => pages.includes(page));
    // As upstream: that it answers at all is the check where there is no other.
    return concerned.length > 0 ? concerned : [{ name: "ping", pages: [page], check: () => undefined }];
  };
  const evaluate = (page: HealthPage, check: HealthCheck): CheckResult => {
    const result = { name: check.name, problem: safely(check) };
    onResult(page, result);
    return result;
  };
  return {
    add: (check) => {
      if (checks.has(check.name)) throw new Error(`The health check ${check.name} is there already.`);
      checks.set(check.name, check);
      return () => checks.delete(check.name);
    },
    run: (page) => on(page).map((check) => evaluate(page, check)),
    runOne: (page, name) => {
      const check = on(page).find((each) => each.name === name);
      return check === undefined ? undefined : evaluate(page, check);
    },
  };
}

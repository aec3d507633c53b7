// What ends the process with 2: something that the operator must mend first, with a text for each.

import type { Problem } from "../../core/problem.ts";

/** Something the operator must mend; the process ends with 2 and this text. */
export class ConfigurationError extends Error {
  readonly problems: readonly Problem[];

  constructor(problems: readonly Problem[]) {
    super(problems.map(({ text }) => text).join("\n"));
    this.name = "ConfigurationError";
    this.problems = problems;
  }
}

export function noInstances(provider: string): Problem {
  return {
    severity: "error",
    reason: "NoInstances",
    text: `The cloud ${provider} has no machines to offer, so there is nothing to do for the node controllers.`,
  };
}

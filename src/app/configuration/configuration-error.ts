// The error with which the process exits with code 2: problems that the operator must fix first.

import { messageIn, type Problem } from "../../core/problem.ts";

export class ConfigurationError extends Error {
  readonly problems: readonly Problem[];

  constructor(problems: readonly Problem[]) {
    super(problems.map(messageIn).join("\n"));
    this.name = "ConfigurationError";
    this.problems = problems;
  }
}

export function noInstances(provider: string): Problem {
  return {
    severity: "error",
    reason: "NoInstances",
    text: `The provider ${provider} does not support instances, which the node controllers require.`,
  };
}

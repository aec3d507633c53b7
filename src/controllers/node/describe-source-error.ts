// Describes an error as a problem of a joining Node. If the cloud has several sources, the text names the one that failed.

import type { Inventory } from "../../cloud/inventory.ts";
import type { Problem } from "../../core/problem.ts";
import { describeError } from "../errors.ts";

/** Undefined for errors that need no action. */
export function describeSourceError(error: unknown, { sources }: Inventory): Problem | undefined {
  const problem = describeError(error);
  const failed = sources.find(({ failure }) => failure?.error === error);
  if (problem === undefined || failed === undefined || sources.length === 1) return problem;
  return { ...problem, text: `Source ${failed.source.name} did not answer: ${problem.text}` };
}

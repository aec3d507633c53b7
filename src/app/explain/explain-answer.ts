// The answer of `explain`, wherever it comes from, and its text and exit code. Pure.

import type { ExitCode } from "../console.ts";
import type { NotFound } from "../describe/describe-object.ts";
import type { Description, State } from "../describe/description.ts";
import { descriptionText, overviewText } from "../describe/description-text.ts";

export interface ExplainAnswer {
  /** Where it comes from, and what that means for the reader. */
  readonly source: string;
  readonly objects: readonly Description[];
  readonly notFound?: NotFound;
  /** What could not be found out, and why. */
  readonly warnings?: readonly string[];
}

const settledStates: readonly State[] = ["settled", "unmanaged"];

/** 0: every object is settled; 3: one is not; 1: it does not exist. */
export function exitCodeOf({ objects, notFound }: ExplainAnswer): ExitCode {
  if (notFound !== undefined) return 1;
  return objects.every(({ state }) => settledStates.includes(state)) ? 0 : 3;
}

export function notFoundText({ kind, name, meant }: NotFound): string {
  const [namespace] = name.split("/");
  const where = kind === "Service" ? `kubectl -n ${namespace} get services` : "kubectl get nodes";
  const hint = meant === undefined ? `${where} lists all` : `did you mean ${meant}?`;
  return `${kind} ${name} does not exist; ${hint}`;
}

export function answerText({ source, objects, warnings = [] }: ExplainAnswer, isOverview: boolean): string {
  const shown = isOverview ? overviewText(objects) : objects.map(descriptionText).join("\n");
  const noted = warnings.map((warning) => `Not known: ${warning}\n`).join("");
  return `${shown}\n${noted}Source: ${source}\n`;
}

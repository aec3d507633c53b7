// What `lint` finds, with its position. Pure.

import type { Problem } from "../../core/problem.ts";

export interface LintProblem {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  readonly severity: Problem["severity"];
  readonly reason: string;
  readonly text: string;
  /** The object, such as `Service shop/web`; absent for the file itself. */
  readonly object?: string;
}

/** A problem whose text may begin with its position, as messages about the --config file do. */
export function atPlaceIn(file: string, { severity, reason, text }: Problem): LintProblem {
  const rest = text.startsWith(`${file}:`) ? text.slice(file.length) : undefined;
  const [, line, column, message] = /^:(\d+)(?::(\d+))?: (.*)$/s.exec(rest ?? "") ?? [];
  return {
    file,
    line: Number(line ?? 1),
    column: Number(column ?? 1),
    severity,
    reason,
    text: message ?? text,
  };
}

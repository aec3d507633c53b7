// What is wrong and whom it concerns, as a value: planners and readers return problems, controllers show them.

/** "error": what it governs stays as it is until mended. "warning": the rest goes on. */
export type Severity = "error" | "warning";

export interface Problem {
  readonly severity: Severity;
  /** A stable CamelCase code from one list, for events, conditions and alerts: `AmbiguousMatch`, `UnknownAnnotation`. */
  readonly reason: string;
  /** What was expected, what came, what to do. */
  readonly text: string;
  /** The annotation, label or configuration key it is about, where there is one. */
  readonly key?: string;
}

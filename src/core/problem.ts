// A problem as a value: planners and parsers return problems, controllers publish them as events and conditions.

/** `error`: what the problem affects stays unchanged until it is fixed. `warning`: the reconcile continues. */
export type Severity = "error" | "warning";

/** Something that is wrong with an object, an annotation or a setting. The framework publishes it; nothing is thrown. */
export interface Problem {
  readonly severity: Severity;
  /** A stable CamelCase reason for events, conditions and alerts: `AmbiguousMatch`, `UnknownAnnotation`. */
  readonly reason: string;
  /** What is wrong (value got and value expected), what happens now, and what the user can do. */
  readonly text: string;
  /** The annotation, label or configuration key it is about, where there is one. */
  readonly key?: string | undefined;
}

/**
 * Those whose condition holds: the problems of a plan, or its steps.
 *
 * @example
 * return applicable(ports.length > 4 && errorProblem("UnsupportedByCloud", tooMany));
 */
export function applicable<T extends object>(...values: readonly (T | false | undefined)[]): readonly T[] {
  return values.filter((value) => value !== false && value !== undefined);
}

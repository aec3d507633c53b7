// A problem as a value: what is wrong with an object or a setting, the program's reaction, and the remedy. Parsers and planners
// return problems and throw nothing. Events, conditions, metrics, pages and commands render problems, and no code parses their
// text.

/** `error`: the affected part stays unchanged until the problem is fixed. `warning`: the reconcile continues. */
export type Severity = "error" | "warning";

/** Line and column start at 1. */
export interface Place {
  /** Unset if the text is not known to come from a file. */
  readonly file?: string;
  readonly line: number;
  readonly column?: number;
}

/** `path:line:column`, which editors turn into a link. */
export const placeText = ({ file = "", line, column }: Place): string =>
  [file, line, column ?? []].flat().join(":");

/** A fact about an object, an annotation or a setting, such as an error or an event. */
export interface Problem {
  /**
   * What the problem holds up. `hold`: nothing changes until an operator decides or the cloud recovers. `wait`: the cloud or a
   * proof ends the wait. `hint`: nothing; it may be intended, so it does not count as a problem. `notice`: nothing, and no action
   * is needed.
   */
  readonly severity: Severity | "hold" | "wait" | "hint" | "notice";
  /** A stable CamelCase reason for events, conditions and alerts: `AmbiguousMatch`, `UnknownAnnotation`. If unset, no event is sent. */
  readonly reason: string;
  /** What is wrong (actual and expected value), and the consequence unless `effect` states it. */
  readonly text: string;
  readonly effect?: string | undefined;
  /** The remedy, unless the text states it. */
  readonly remedy?: string | undefined;
  /** What a running manager does next, which does not apply to a one-time command: `Fairlead will retry.` */
  readonly promise?: string | undefined;
  /** The related annotation, label or configuration key, if any. */
  readonly key?: string | undefined;
  /** The position in a file, for messages and editors. */
  readonly place?: Place | undefined;
  /**
   * The identity of the problem, if its text may change without being a new problem, for example because it contains a remaining
   * time. If unset, the text is the identity.
   */
  readonly identity?: string | undefined;
  /**
   * The reason of the underlying error when the problem has upstream's reason, such as `QuotaExceeded` in
   * `SyncLoadBalancerFailed`.
   */
  readonly cause?: string | undefined;
  /** True if the problem is not logged, because its completion is logged or one line covers many objects. */
  readonly isQuiet?: boolean | undefined;
  /** When the object first had a problem with this reason (monotonic), and the number of consecutive failed attempts. */
  readonly since?: number | undefined;
  readonly attempts?: number | undefined;
}

/** The whole message, for events, conditions and log lines. */
export function messageIn({
  place,
  text,
  effect,
  remedy,
  promise,
}: Pick<Problem, "place" | "text" | "effect" | "remedy" | "promise">): string {
  const message = [text, effect, remedy, promise].filter((part) => part !== undefined).join(" ");
  return place?.file === undefined ? message : `${placeText(place)}: ${message}`;
}

/** Whether the severity is error or warning. */
export const isProblem = ({ severity }: Pick<Problem, "severity">): boolean =>
  severity === "error" || severity === "warning";

/** The type of the problem's event. */
export const eventTypeOf = ({ severity }: Pick<Problem, "severity">): "Normal" | "Warning" =>
  severity === "wait" || severity === "notice" ? "Normal" : "Warning";

/**
 * Keeps the values whose condition holds, for the problems of a plan or its steps.
 *
 * @example
 * return applicable(ports.length > 4 && errorProblem("UnsupportedByCloud", tooMany));
 */
export function applicable<T extends object>(...values: readonly (T | false | undefined)[]): readonly T[] {
  return values.filter((value) => value !== false && value !== undefined);
}

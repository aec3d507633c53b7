// A problem as a value: the problem of an object or a setting, the program's reaction, and the remedy. Parsers and planners return
// problems; nothing is thrown. Events, conditions, metrics, pages and commands render them, and no code reads their text.

/** `error`: the part that the problem affects stays unchanged until it is fixed. `warning`: the reconcile continues. */
export type Severity = "error" | "warning";

/** Line and column start at 1. */
export interface Place {
  /** Absent in a text that is not known to be of a file. */
  readonly file?: string;
  readonly line: number;
  readonly column?: number;
}

/** `path:line:column`, which editors turn into a link. */
export const placeText = ({ file = "", line, column }: Place): string =>
  [file, line, column ?? []].flat().join(":");

/** Something that applies to an object, an annotation or a setting, or happened to it. */
export interface Problem {
  /**
   * What it holds up. `hold`: nothing is changed until an operator decides or the cloud recovers. `wait`: the cloud or a proof ends it.
   * `hint`: nothing, and it may be intended, so it is not counted as a problem. `notice`: nothing, and there is nothing to do.
   */
  readonly severity: Severity | "hold" | "wait" | "hint" | "notice";
  /** A stable CamelCase reason for events, conditions and alerts: `AmbiguousMatch`, `UnknownAnnotation`. If unset, no event is sent. */
  readonly reason: string;
  /** The problem (actual and expected value), and its consequence, if that is not in `effect`. */
  readonly text: string;
  readonly effect?: string | undefined;
  /** The remedy, if it is not in the text. */
  readonly remedy?: string | undefined;
  /** A running manager's next action, which does not apply to a one-time command: `Fairlead will retry.` */
  readonly promise?: string | undefined;
  /** The related annotation, label or configuration key, if any. */
  readonly key?: string | undefined;
  /** Where it is in a file, for messages and editors. */
  readonly place?: Place | undefined;
  /**
   * The identity of the problem, if its text may change without being a new problem, for example because it contains a remaining
   * time. Absent: the text.
   */
  readonly identity?: string | undefined;
  /** The reason of the error behind a problem that has upstream's reason, such as `QuotaExceeded` of `SyncLoadBalancerFailed`. */
  readonly cause?: string | undefined;
  /** Not logged: its completion is logged, or one line covers many objects. */
  readonly isQuiet?: boolean | undefined;
  /** When the object got a problem with this reason, monotonic, and how many attempts in a row have failed. */
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

/** Whether it is an error or a warning. */
export const isProblem = ({ severity }: Pick<Problem, "severity">): boolean =>
  severity === "error" || severity === "warning";

/** The type of its event. */
export const eventTypeOf = ({ severity }: Pick<Problem, "severity">): "Normal" | "Warning" =>
  severity === "wait" || severity === "notice" ? "Normal" : "Warning";

/**
 * Those whose condition holds: the problems of a plan, or its steps.
 *
 * @example
 * return applicable(ports.length > 4 && errorProblem("UnsupportedByCloud", tooMany));
 */
export function applicable<T extends object>(...values: readonly (T | false | undefined)[]): readonly T[] {
  return values.filter((value) => value !== false && value !== undefined);
}

// What a controller says about its objects when it is asked. Pages, metrics and commands read these values and nothing else.

/** A message that applies to an object now. It contains what to do. */
export interface Finding {
  readonly kind: "problem" | "hold" | "wait" | "notice";
  readonly reason: string;
  readonly text: string;
  /** Failed attempts in a row. */
  readonly attempts?: number;
  /** When the object got a finding with this reason, monotonic. */
  readonly since?: number;
}

export interface ControllerReport {
  /** By the name of the object: `node-1`, `default/shop`. An object without a finding is absent. */
  readonly findings: ReadonlyMap<string, readonly Finding[]>;
}

/** The reason of findings that have no own one. */
export const noticeReason = "Notice";

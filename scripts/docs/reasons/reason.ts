// The entry for one reason of an event or condition in docs/events.md. The entries are in the other files of this
// folder, by the object that they concern.

export interface Reason {
  readonly type: "Normal" | "Warning";
  readonly when: string;
  /** Absent if nothing needs to be done. */
  readonly whatToDo?: string;
  /** Set if upstream has the reason under this name and with this message. */
  readonly upstream?: true;
  /**
   * Why `fairlead_problems` does not count a warning: the warning is a hold, it happens once, or it is a note
   * that delays nothing. A test compares this with the code.
   */
  readonly uncounted?: "hold" | "once" | "note";
}
export type Reasons = Readonly<Record<string, Reason>>;

/** For problems that usually disappear. */
export const onlyIfItLasts = "nothing, unless it lasts";

export const seeAnswer =
  "follow the answer in the message: for an outage (5xx) or a rate limit (429), wait; for a 401, replace the token; for a 403 from the API server, apply the output of `rbac`; for a missing object, correct the setting that names it";

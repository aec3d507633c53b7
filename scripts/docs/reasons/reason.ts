// One reason on events and conditions, as docs/events.md tells it. What reasons there are stands beside this file, by what
// they are about.

export interface Reason {
  readonly type: "Normal" | "Warning";
  readonly when: string;
  /** Nothing, where it only tells. */
  readonly whatToDo?: string;
  /** Upstream has it under this name and in these words. */
  readonly upstream?: true;
}
export type Reasons = Readonly<Record<string, Reason>>;

/** For what passes by itself. */
export const onlyIfItLasts = "nothing, unless it lasts";

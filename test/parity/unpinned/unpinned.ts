// The form of the lists in this folder: a behavior that upstream's tests do not cover, and its proof here.

export interface Unpinned {
  readonly behavior: string;
  /** The ends of test titles. Titles in `*.cluster.ts` and `*.executable.ts` follow the name of their file. */
  readonly provedBy?: readonly string[];
  /** Why nothing proves the behavior, or where Fairlead differs: a row of docs/differences.md or a decision record. */
  readonly note?: string;
}

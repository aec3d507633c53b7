// The form of the lists beside this file: a behavior that upstream's tests do not cover, and what proves it here.

export interface Unpinned {
  readonly behavior: string;
  /** Ends of test titles. Titles of `*.cluster.ts` and `*.executable.ts` follow the name of their file. */
  readonly provedBy?: readonly string[];
  /** Why nothing proves it, or where Fairlead differs: a row of docs/differences.md or a decision record. */
  readonly note?: string;
}

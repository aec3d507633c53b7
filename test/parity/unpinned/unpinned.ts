// A behaviour of upstream's that none of its tests pins, and what proves it here: the form of the lists beside this file.

export interface Unpinned {
  readonly behaviour: string;
  /** Ends of titles; those of `*.cluster.ts` and `*.executable.ts` stand behind their file. */
  readonly provedBy?: readonly string[];
  /** Why there is nothing to prove, or where ours is another way: a row of docs/differences.md or a decision record. */
  readonly note?: string;
}

// What a flag may carry besides its field: why it does nothing here, that it is deprecated, its shorthand, whether a change
// of it needs a new process. Each is a wrapper, so that the table reads as one sentence per flag.

import type { Field, Fields } from "../../core/settings.ts";

export interface FlagNotes {
  /** Completes "--name has no effect: …"; said once, when the flag is given. */
  readonly noEffect?: string;
  /** Not in the help; said when the flag is given. */
  readonly deprecated?: true;
  readonly shorthand?: string;
  /** What it governs is made once per process: a port, a Lease, a file that the rest hangs on. */
  readonly needsRestart?: true;
}

export interface FlagGroup<F extends Fields = Fields> {
  /** As upstream's help has it, in lower case. */
  readonly title: string;
  readonly fields: F;
}

export const notesOf = (field: Field<unknown> & FlagNotes): FlagNotes => field;

/** Accepted, so that argument lists of the Go managers work as they are. */
export function noEffect<F extends Field<unknown>>(field: F, why: string): F & FlagNotes {
  return {
    ...field,
    noEffect: why,
  };
}

/** As upstream: hidden, still accepted. */
export function deprecated<F extends Field<unknown>>(field: F, why: string): F & FlagNotes {
  return {
    ...field,
    noEffect: why,
    deprecated: true,
  };
}

export function shorthand<F extends Field<unknown>>(field: F, letter: string): F & FlagNotes {
  return {
    ...field,
    shorthand: letter,
  };
}

export function needsRestart<F extends Field<unknown>>(field: F): F & FlagNotes {
  return {
    ...field,
    needsRestart: true,
  };
}

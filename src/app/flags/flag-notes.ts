// Notes that a flag may have besides its field: why it has no effect, that it is deprecated, its shorthand, and whether a
// change needs a restart. Each is a wrapper around the field.

import type { Field, Fields } from "../../core/settings.ts";

export interface FlagNotes {
  /** Completes the warning "--name has no effect: …". */
  readonly noEffect?: string;
  /** Hidden from the help; setting it gives a warning. */
  readonly deprecated?: true;
  readonly shorthand?: string;
  /**
   * A change needs a restart: it configures something that is created once per process, such as a port or the Lease, or it decides
   * which Nodes and which objects in the cloud belong to this process. A reload applies changes of all other flags.
   */
  readonly needsRestart?: true;
  /** The only commands that accept the flag. */
  readonly commands?: readonly string[];
}

export interface FlagGroup<F extends Fields = Fields> {
  /** As in upstream's help, in lower case. */
  readonly title: string;
  readonly fields: F;
}

export const notesOf = (field: Field<unknown> & FlagNotes): FlagNotes => field;

/** For flags that are accepted only so that argument lists of the Go managers work unchanged. */
export function noEffect<F extends Field<unknown>>(field: F, why: string): F & FlagNotes {
  return {
    ...field,
    noEffect: why,
  };
}

/** As in upstream: hidden from the help, but still accepted. */
export function deprecated<F extends Field<unknown>>(field: F, why: string): F & FlagNotes {
  return {
    ...field,
    noEffect: why,
    deprecated: true,
  };
}

/** For a flag of some commands; every other command refuses it. */
export function onlyFor<F extends Field<unknown>>(
  commands: string | readonly string[],
  field: F,
): F & FlagNotes {
  return {
    ...field,
    commands: [commands].flat(),
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
